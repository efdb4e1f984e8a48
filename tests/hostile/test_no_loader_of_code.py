"""No line of the project loads pickles, evaluates text, or unpacks archives to disk."""

import re

# What runs code that stands in a file, or writes where a file says. These have a safe form:
# np.load with allow_pickle=False, yaml.safe_load, json.
FORBIDDEN = re.compile(
    r"\b(c?pickle|dill|cloudpickle|shelve|marshal|read_pickle|extractall|unpack_archive|"
    r"unsafe_load|full_load)\b|(?<!\.)\b(eval|exec)\(|\b(yaml|joblib)\.load\(|"
    r"\bnp\.load\((?!opened, allow_pickle=False\))"
)
TEXT = re.compile(r'"""(.|\n)*?"""|"[^"\n]*"|#.*')


def test_nothing_that_loads_code_is_named(project_root):
    files = [*(project_root / "src").rglob("*.py"), *(project_root / "scripts").glob("*.py")]
    assert len(files) > 100
    for file in files:
        code = TEXT.sub("", file.read_text(encoding="utf-8"))
        assert not FORBIDDEN.search(code), (file, FORBIDDEN.search(code))
    for line in (
        "import pickle",
        "a = eval(b)",
        "np.load(a)",
        "np.load(opened, allow_pickle=True)",
    ):
        assert FORBIDDEN.search(line)
