// Figures enlarge: a click (or Enter) opens one, then wheel, buttons or + and - zoom, dragging moves.
const LARGEST_ZOOM = 12;

function openFigure(image) {
  const view = document.createElement("dialog");
  const stage = document.createElement("div");
  const large = new Image();
  const bar = document.createElement("p");
  let scale = 1;

  function fitted() {
    const { naturalWidth, naturalHeight } = image;
    return naturalWidth * Math.min(stage.clientWidth / naturalWidth,
      stage.clientHeight / naturalHeight);
  }

  // The point under (x, y) of the stage stays where it is.
  function zoom(factor, x = stage.clientWidth / 2, y = stage.clientHeight / 2) {
    const next = Math.min(Math.max(scale * factor, 1), LARGEST_ZOOM);
    const [left, top] = [stage.scrollLeft + x, stage.scrollTop + y];
    large.style.width = `${fitted() * next}px`;
    stage.scrollTo(left * next / scale - x, top * next / scale - y);
    scale = next;
  }

  function button(text, title, action) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.title = title;
    made.addEventListener("click", action);
    bar.append(made);
  }

  button("+", "Larger", () => zoom(1.5));
  button("−", "Smaller", () => zoom(1 / 1.5));
  button("Save", "Save as SVG", () => {
    const name = image.alt.replace(/[^\p{L}\p{N}]+/gu, "_");
    Object.assign(document.createElement("a"), { href: image.src, download: `${name}.svg` }).click();
  });
  button("Close", "Close (Escape)", () => view.close());
  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    const place = stage.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 400), event.clientX - place.left, event.clientY - place.top);
  }, { passive: false });
  stage.addEventListener("pointermove", (event) => {
    if (event.buttons) stage.scrollBy(-event.movementX, -event.movementY);
  });
  view.addEventListener("keydown", (event) => {
    if (event.key === "+" || event.key === "=") zoom(1.5);
    if (event.key === "-") zoom(1 / 1.5);
  });
  view.addEventListener("close", () => {
    view.remove();
    image.focus();
  });
  view.className = "figure";
  view.setAttribute("aria-label", image.alt);
  large.src = image.src;
  large.alt = image.alt;
  large.draggable = false;
  stage.append(large);
  view.append(bar, stage);
  document.body.append(view);
  view.showModal();
  zoom(1);
}

for (const image of document.querySelectorAll("figure img")) {
  image.tabIndex = 0;
  image.title = "Click to enlarge";
  image.addEventListener("click", () => openFigure(image));
  image.addEventListener("keydown", (event) => {
    if (event.key === "Enter") openFigure(image);
  });
}
