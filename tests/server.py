"""A server on this machine that answers as badly as real ones do."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CONTENT = b"anna\n" * 9_000


class Server(ThreadingHTTPServer):
    """Answers in the way named by its `faults`, one after the other; the last one stays."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.faults, self.paths, self.stopped = ["none"], [], threading.Event()
        self.address = f"http://127.0.0.1:{self.server_port}/names.txt"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def asked(self):
        return len(self.paths)

    def close(self):
        self.stopped.set()
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.paths.append(self.path)
        faults = self.server.faults
        fault = faults.pop(0) if len(faults) > 1 else faults[0]
        content = CONTENT.replace(b"anna", b"otto") if fault == "wrong" else CONTENT
        if fault == "silent":
            self.server.stopped.wait(20)
            return
        if fault == "hang up":
            self.close_connection = True
            return
        self.send_response(int(fault) if fault.isdigit() else 200)
        self.send_header("Content-Length", "0" if fault.isdigit() else str(len(content)))
        self.end_headers()
        if fault in ("none", "wrong"):
            self.wfile.write(content)
        elif fault == "truncated":
            self.wfile.write(content[:1_000])
        elif fault == "stalled":
            self.wfile.write(content[:1_000])
            self.server.stopped.wait(20)
        elif fault in ("slow", "dripping"):
            size, pause = {"slow": (1_000, 0.1), "dripping": (1, 0.03)}[fault]
            for start in range(0, len(content), size):
                try:
                    self.wfile.write(content[start : start + size])
                except OSError:
                    return
                if self.server.stopped.wait(pause):
                    return

    def log_message(self, *_):
        pass
