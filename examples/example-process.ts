import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A server or a worker of an example, in a process of its own. */
export class ExampleProcess {
  /** What it said when it was ready. */
  readonly firstLine: string;
  /** Resolves once it has ended, by whatever. */
  readonly ended: Promise<unknown>;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, ended: Promise<unknown>, firstLine: string) {
    this.#child = child;
    this.ended = ended;
    this.firstLine = firstLine;
  }

  /** Resolves once it is ready. */
  static async start(file: URL, settings: NodeJS.ProcessEnv): Promise<ExampleProcess> {
    const env = { ...process.env, ...settings };
    const child = spawn(process.execPath, [fileURLToPath(file)], {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(child, "close");
    const lines = createInterface({ input: child.stdout });
    const first = await Promise.race([once(lines, "line"), ended.then(() => null)]);
    if (first === null) throw new Error(`${file.pathname} ended before it was ready.`);
    lines.on("line", () => undefined);
    return new ExampleProcess(child, ended, String(first[0]));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.ended;
  }

  /** In good order: what it works on is handed back. */
  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.ended;
  }
}
