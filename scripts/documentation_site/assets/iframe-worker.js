// Where the site is opened from a folder, a browser starts no worker: the search then runs in a hidden frame, which has
// a worker's postMessage, importScripts and events.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      const inside = frame.contentWindow;
      addEventListener("message", (event) => {
        if (event.source !== inside) return;
        this.dispatchEvent(new MessageEvent("message", { data: event.data }));
        this.onmessage?.(event);
      });
      inside.document.open();
      // Said inside, so that the message comes from there.
      const said = 'postMessage = (data) => parent.postMessage(data, "*")';
      inside.document.write(`<!doctype html><html><body><script>${said}</scr` + "ipt></body></html>");
      inside.document.close();
      const script = inside.document.createElement("script");
      this.started = new Promise((resolve, reject) => {
        script.onload = resolve;
        script.onerror = reject;
      });
      script.src = address;
      inside.document.body.appendChild(script);
      this.inside = inside;
    }
    postMessage(data) {
      this.started.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) })));
    }
    terminate() {
      this.inside.frameElement.remove();
    }
  };
}
