"""A page of HTML, taken apart."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """Collects tags, texts and tables of a page; `shown` is the text that is not folded away."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text, self.shown, self.tables, self._open = [], "", "", [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        if {"script", "style"} & set(self._open):
            return
        self.text += data
        if self._open.count("details") <= ("summary" in self._open) and "svg" not in self._open:
            self.shown += data
        if {"td", "th"} & set(self._open):
            self.tables[-1][-1][-1] += data.strip()

    def rows(self, corner):
        """Rows, by name, of the table whose header starts so."""
        table = next(t for t in self.tables if t[0][: len(corner)] == corner)
        return {row[0]: row[1:] for row in table[1:]}
