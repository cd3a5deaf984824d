// Documents: passages are marked on the page of the original, and files are dropped. Everything else works without it.
"use strict";

// A passage under the pointer, or with the focus, is marked where it stands; with the focus, that place comes into sight.
const mark = (passage, sight) => {
  document.querySelectorAll("rect.under").forEach((box) => box.classList.remove("under"));
  if (!passage) return;
  const boxes = document.querySelectorAll(`rect[data-of="${passage.dataset.passage}"]`);
  boxes.forEach((box) => box.classList.add("under"));
  if (sight && boxes.length) bring(boxes[0]);
};

const bring = (box) => {
  const column = box.closest(".originals");
  const paper = box.closest(".paper");
  const top = paper.getBoundingClientRect().top - column.getBoundingClientRect().top + column.scrollTop;
  const at = top + box.y.baseVal.value * paper.clientHeight;
  if (column.scrollHeight > column.clientHeight) column.scrollTo({ top: at - column.clientHeight / 3 });
};

const passageOf = (event) => event.target.closest?.("[data-passage]");
document.addEventListener("pointerover", (event) => {
  const passage = passageOf(event);
  if (passage) mark(passage, event.pointerType === "mouse");
});
document.addEventListener("focusin", (event) => {
  const passage = passageOf(event);
  if (passage) mark(passage, true);
});

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll(".scripted").forEach((one) => { one.hidden = false; });
  const chosen = document.querySelector("rect.on");
  if (!chosen) return;
  bring(chosen);
  // Pages come when they are needed, and push down what stands below them.
  document.querySelectorAll(".originals img").forEach((image) => image.addEventListener("load", () => bring(chosen), { once: true }));
});

// Files that are dropped or chosen, with their folders, are sent at once; the page follows how they are read.
const form = document.querySelector("[data-drop]");

const inside = async (entry, path) => {
  if (entry.isFile) {
    const file = await new Promise((found, failed) => entry.file(found, failed));
    return [[file, path + file.name]];
  }
  const reader = entry.createReader();
  const all = [];
  for (;;) { // it gives them in parts, and an empty one at the end
    const part = await new Promise((found, failed) => reader.readEntries(found, failed));
    if (!part.length) break;
    all.push(...part);
  }
  return (await Promise.all(all.map((one) => inside(one, `${path}${entry.name}/`)))).flat();
};

const hidden = (path) => path.split("/").some((step) => step.startsWith("."));

const send = (all) => {
  const files = all.filter(([, name]) => !hidden(name));
  if (!files.length) return;
  const shown = form.querySelector(".sending");
  const [bar, said] = [shown.querySelector("progress"), shown.querySelector("p")];
  const body = new FormData();
  form.querySelectorAll("[data-sent]").forEach((field) => body.append(field.name, field.value));
  files.forEach(([file, name]) => body.append("file", file, name));
  shown.hidden = bar.hidden = false;
  bar.value = 0;
  said.textContent = form.dataset.sending;
  let watching;
  const request = new XMLHttpRequest();
  request.open("POST", form.action);
  request.upload.addEventListener("progress", (event) => { bar.value = (100 * event.loaded) / event.total; });
  request.upload.addEventListener("load", () => {
    bar.removeAttribute("value");
    said.textContent = form.dataset.reading;
    watching = setInterval(async () => {
      const page = new DOMParser().parseFromString(await (await fetch(form.dataset.watch)).text(), "text/html");
      const told = page.querySelector("#live progress ~ p");
      if (told) said.textContent = `${form.dataset.reading} ${told.textContent}`;
    }, 1500);
  });
  request.addEventListener("loadend", () => {
    clearInterval(watching);
    if (request.status === 200 && request.responseURL.includes("report=1")) {
      location.assign(request.responseURL);
      return;
    }
    const page = new DOMParser().parseFromString(request.responseText, "text/html");
    bar.hidden = true;
    said.textContent = page.querySelector("[role=alert]")?.textContent || form.dataset.broken;
  });
  request.send(body);
};

if (form) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send([...form.querySelector("[name=file]").files].map((file) => [file, file.name]));
  });
  form.querySelector("[webkitdirectory]").addEventListener("change", (event) => {
    send([...event.target.files].map((file) => [file, file.webkitRelativePath || file.name]));
  });
  for (const kind of ["dragover", "dragleave", "drop"]) {
    form.addEventListener(kind, (event) => {
      event.preventDefault();
      form.classList.toggle("over", kind === "dragover");
    });
  }
  form.addEventListener("drop", async (event) => {
    const items = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    const files = items.length
      ? (await Promise.all(items.map((entry) => inside(entry, "")))).flat()
      : [...event.dataTransfer.files].map((file) => [file, file.name]);
    send(files);
  });
}
