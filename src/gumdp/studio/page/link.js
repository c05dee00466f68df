// The socket: messages go out when it is open, and come in to whoever asked for their kind.
export class Link {
  constructor() {
    this.ears = new Map();
    this.waiting = [];
    this.tries = 0;
    this.connect();
  }
  connect() {
    const base = new URL("socket", location.href);
    base.protocol = "ws:";
    base.hash = base.search = "";
    this.socket = new WebSocket(base);
    this.socket.addEventListener("open", () => {
      this.tries = 0;
      for (const text of this.waiting.splice(0)) this.socket.send(text);
    });
    this.socket.addEventListener("message", (event) => this.hear(JSON.parse(event.data)));
    this.socket.addEventListener("close", () => {
      this.tell({ say: "lost" });
      if (this.tries++ < 20) setTimeout(() => this.connect(), Math.min(5000, 300 * this.tries));
    });
  }
  on(kind, ear) {
    this.ears.set(kind, [...(this.ears.get(kind) || []), ear]);
  }
  hear(message) {
    this.tell(message);
  }
  tell(message) {
    for (const ear of this.ears.get(message.say) || []) ear(message);
  }
  send(what, facts = {}) {
    const text = JSON.stringify({ do: what, ...facts });
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(text);
    else if (this.waiting.length < 100) this.waiting.push(text);
  }
}
