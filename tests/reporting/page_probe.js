// Uses a page of the report as a reader would, and leaves what it found as the page's title.
const found = { errors: [], browsers: [], downloads: {} };
window.addEventListener("error", (event) => found.errors.push(event.message));

function search(browser, words) {
  const field = browser.querySelector("input");
  field.value = words;
  field.dispatchEvent(new Event("input"));
  return browser.querySelector("output").textContent;
}

function useBrowser(browser) {
  const first = () => browser.querySelector("tbody td").textContent;
  const all = browser.querySelector("output").textContent;
  const some = search(browser, first());
  const none = search(browser, "no gene has such a name");
  search(browser, "");
  // The first column has the names.
  const button = browser.querySelector("th button");
  button.click();
  const lowest = first();
  button.click();
  const titles = [...browser.querySelectorAll("th")].map((cell) => cell.textContent);
  const help = browser.querySelector(".help").textContent;
  return { all, some, none, lowest, highest: first(), titles, help };
}

function useDownloads() {
  // What is offered for download is noted when it is made: `await blob.text()` takes real time, which
  // the browser's virtual time does not wait for.
  const texts = [];
  window.Blob = function (parts) { texts.push(parts.join("")); };
  URL.createObjectURL = () => "#";
  URL.revokeObjectURL = () => {};
  HTMLAnchorElement.prototype.click = function () { found.downloads[this.download] = texts.at(-1); };
  document.querySelectorAll("button.download").forEach((button) => button.click());
}

// What stands above a height of the page, as far as the next steps of the first data set.
function readAnswer() {
  const section = document.querySelector("section.dataset");
  const parts = [".lead", ".chips", ".warning", ".within", "dl", ".steps"]
    .flatMap((name) => [...section.querySelectorAll(name)]);
  const bottom = Math.max(...parts.map((part) => part.getBoundingClientRect().bottom));
  return { bottom, text: parts.map((part) => part.innerText).join("\n") };
}

// What a reader sees before anything is unfolded, and how many words of it are not help.
function readAll() {
  const shown = () => document.querySelector("main").innerText;
  found.text = shown();
  const helps = [...document.querySelectorAll(".help, #glossary")];
  helps.forEach((help) => { help.hidden = true; });
  found.words = shown().split(/\s+/).filter(Boolean).length;
  helps.forEach((help) => { help.hidden = false; });
  found.headings = [...document.querySelectorAll("h2, h3, summary")]
    .map((heading) => heading.textContent.trim());
  found.tables = [...document.querySelectorAll(".scroll > table")].map((table) =>
    [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim())));
  found.swatches = [...document.querySelectorAll(".chips .swatch")]
    .map((swatch) => swatch.getAttribute("style").split(": ")[1]);
  found.terms = [...document.querySelectorAll("#glossary dt")].map((term) => term.textContent);
  found.visiblePictures = [...document.querySelectorAll(".picture svg")]
    .filter((picture) => picture.checkVisibility({ contentVisibilityAuto: true })).length;
  // Matplotlib writes each label of a picture as a comment, too.
  found.labels = [...document.querySelectorAll("figure img")].flatMap((image) =>
    [...atob(image.src.split(",")[1]).matchAll(/<!-- (.*) -->/g)].map((label) => label[1]));
}

async function examine() {
  found.answer = readAnswer();
  readAll();
  found.sections = [...document.querySelectorAll("section")].map((section) =>
    [section.id, section.getBoundingClientRect().height, section.innerText.trim().length]);
  found.links = [...document.querySelectorAll("a[href^='#']")].map((link) => link.hash)
    .filter((hash) => !document.querySelector(CSS.escape ? `#${CSS.escape(hash.slice(1))}` : hash));
  const images = [...document.querySelectorAll("figure img")];
  found.images = images.map((image) => [image.alt, image.naturalWidth, image.clientWidth]);
  found.pictures = [...document.querySelectorAll(".picture svg")]
    .map((picture) => picture.getBoundingClientRect().width);
  found.unfolded = {};
  for (const link of document.querySelectorAll("nav a.dataset")) {
    link.click();
    const steps = document.getElementById(link.hash.slice(1)).querySelector(".steps");
    found.unfolded[link.hash.slice(1)] = !steps.closest("details:not([open])");
  }
  found.navigation = document.querySelector("nav").scrollWidth
    - document.querySelector("nav").clientWidth;
  const browsers = [...document.querySelectorAll("details.browser")];
  browsers.forEach((browser) => { browser.open = true; });
  await new Promise((resolve) => setTimeout(resolve, 300));
  found.browsers = browsers.map(useBrowser);
  document.querySelectorAll(".opens tbody").forEach((body) => { body.rows[0].click(); });
  found.distributions = [...document.querySelectorAll(".distribution figure")].map((figure) => [
    figure.querySelector("figcaption").textContent,
    ...[...figure.querySelectorAll(".median")].map((line) => Number(line.dataset.value)),
  ]);
  found.maps = [...document.querySelectorAll(".picture")].map((picture) => {
    const column = picture.parentElement.querySelector("select");
    const fills = () => [...picture.querySelectorAll("use:has(title)")].map((dot) => dot.style.fill);
    return Object.fromEntries([...column.options].map((option) => {
      column.value = option.value;
      column.dispatchEvent(new Event("change"));
      return [option.text, fills()];
    }));
  });
  const wanted = document.querySelector(".picture use title")?.textContent ?? "";
  document.querySelector(".find input").value = wanted;
  document.querySelector(".find input").dispatchEvent(new Event("input"));
  found.highlighted = [wanted, document.querySelector(".find output").textContent,
    document.querySelectorAll(".picture .found").length,
    [...document.querySelectorAll("tr.found")].map((line) => line.cells[0].textContent)];
  found.width = document.documentElement.scrollWidth;
  found.wideTables = [...document.querySelectorAll("table.genes")]
    .map((table) => table.getBoundingClientRect().width - table.parentElement.clientWidth)
    .filter((excess) => excess > 0.5);
  // However wide the table is that scrolls below its caption.
  const tables = [...document.querySelectorAll(".scroll > table")];
  tables.forEach((table) => { table.style.minWidth = "3000px"; });
  found.wideCaptions = tables
    .map((table) => table.caption.getBoundingClientRect().right - document.documentElement.clientWidth)
    .filter((excess) => excess > 0.5);
  tables.forEach((table) => { table.style.minWidth = ""; });
  useDownloads();
}

window.addEventListener("load", () => examine()
  .catch((error) => found.errors.push(String(error)))
  .finally(() => {
    document.body.replaceChildren();
    document.title = `FOUND${JSON.stringify(found)}END`;
    if (window.parent !== window) window.parent.postMessage(document.title, "*");
  }));
