// Search when pages are opened as files. Browsers start no worker from a file, so its script runs in a hidden frame,
// behind the interface of a worker. Pages that come from a server use a real worker.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      const inner = frame.contentWindow;
      this.ready = new Promise((resolve) => (frame.onload = resolve));
      addEventListener("message", (event) => {
        if (event.source !== inner) return;
        const message = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(message);
        if (this.onmessage) this.onmessage(message);
      });
      inner.document.open();
      inner.document.write(
        "<script>" +
          "postMessage = (data) => parent.dispatchEvent(new MessageEvent('message', {data, source: window}));" +
          "importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((done, failed) => {" +
          "const script = document.createElement('script'); script.src = url;" +
          "script.onload = done; script.onerror = failed; document.body.appendChild(script); })), Promise.resolve());" +
          "</scr" + 'ipt><body><script src="' + url + '"></scr' + "ipt>"
      );
      inner.document.close();
      this.inner = inner;
    }
    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) })));
    }
  };
  window.Worker = window.IFrameWorker;
}
