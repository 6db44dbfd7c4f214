// Browsers start no worker from disk. There, the search runs in a hidden frame instead, which takes the same messages.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.ready = new Promise((loaded) => this.frame.addEventListener("load", loaded, { once: true }))
      const reply = "<script>postMessage = (data) => parent.postMessage(data, '*')</" + "script>"
      this.frame.srcdoc = `${reply}<script src="${url}"></` + "script>"
      document.body.appendChild(this.frame)
      addEventListener("message", (event) => {
        if (event.source === this.frame.contentWindow) {
          const message = new MessageEvent("message", { data: event.data })
          this.dispatchEvent(message)
          if (this.onmessage) this.onmessage(message)
        }
      })
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
