// Browsers start no workers for pages that are opened as files. The search of these pages runs in one,
// so that there it gets a hidden frame to run in instead. (English pages need no importScripts.)
if (window.location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      this.waiting = []
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.documentElement.appendChild(frame)
      this.inside = frame.contentWindow
      this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      const script = frame.contentDocument.createElement("script")
      script.src = url
      script.onload = () => {
        const waiting = this.waiting
        this.waiting = null
        waiting.forEach(data => this.postMessage(data))
      }
      frame.contentDocument.head.appendChild(script)
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data)
      else this.inside.dispatchEvent(new MessageEvent("message", { data }))
    }

    terminate() {}
  }
  window.Worker = window.IFrameWorker
}
