// Figures enlarge: a click (or Enter) opens one, then wheel, buttons or + and - zoom, dragging moves.
const LARGEST_ZOOM = 12;

function openFigure(image) {
  const view = document.createElement("dialog");
  view.className = "figure";
  view.setAttribute("aria-label", image.alt);
  view.innerHTML = '<p><button title="Larger">+</button><button title="Smaller">−</button>'
    + '<button title="Close (Escape)">Close</button></p><div></div>';
  const [larger, smaller, close] = view.querySelectorAll("button");
  const stage = view.querySelector("div");
  const large = stage.appendChild(Object.assign(new Image(), { src: image.src, draggable: false }));
  let scale = 1;

  // The point under (x, y) of the stage stays where it is.
  function zoom(factor, x = stage.clientWidth / 2, y = stage.clientHeight / 2) {
    const { naturalWidth, naturalHeight } = image;
    const fits = Math.min(stage.clientWidth / naturalWidth, stage.clientHeight / naturalHeight);
    const next = Math.min(Math.max(scale * factor, 1), LARGEST_ZOOM);
    const [left, top] = [stage.scrollLeft + x, stage.scrollTop + y];
    large.style.width = `${naturalWidth * fits * next}px`;
    stage.scrollTo(left * next / scale - x, top * next / scale - y);
    scale = next;
  }

  larger.onclick = () => zoom(1.5);
  smaller.onclick = () => zoom(1 / 1.5);
  close.onclick = () => {
    view.close();
    view.remove();
  };
  view.onclose = () => view.remove();
  view.onkeydown = ({ key }) => zoom({ "+": 1.5, "=": 1.5, "-": 1 / 1.5 }[key] ?? 1);
  stage.onwheel = (event) => {
    event.preventDefault();
    const place = stage.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 400), event.clientX - place.left, event.clientY - place.top);
  };
  stage.onpointermove = (event) => {
    if (event.buttons) stage.scrollBy(-event.movementX, -event.movementY);
  };
  document.body.append(view);
  view.showModal();
  zoom(1);
}

for (const image of document.querySelectorAll("figure img")) {
  Object.assign(image, { tabIndex: 0, title: "Click to enlarge" });
  image.onclick = () => openFigure(image);
  image.onkeydown = ({ key }) => key === "Enter" && openFigure(image);
}
