import type { ExplorerProgress } from "../../testing/crash/crash-explorer.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { CommandInput } from "../context/command.ts";
import { cut } from "../context/terminal-text.ts";
import { counted } from "../screen/format.ts";

const CLEAR_LINE = "\u001b[K";

/** A progress line on a terminal; nothing elsewhere. */
export class CrashtestProgress {
  readonly #output: CliContext["stderr"];
  readonly #isShown: boolean;
  #isDrawn = false;

  constructor({ stderr }: CliContext, { json }: Pick<CommandInput, "json">) {
    this.#output = stderr;
    this.#isShown = stderr.isTerminal && !json;
  }

  show({ mode, schedules, left, violations }: ExplorerProgress): void {
    const broken = violations === 0 ? "" : ` · ${counted(violations, "promise")} broken`;
    this.#draw(
      `${MODES[mode]} · ${counted(schedules, "schedule")} done, ${left} left${broken} · Ctrl-C stops`,
    );
  }

  clear(): void {
    if (this.#isDrawn) this.#output.write(`\r${CLEAR_LINE}`);
    this.#isDrawn = false;
  }

  #draw(text: string): void {
    if (!this.#isShown) return;
    this.#isDrawn = true;
    this.#output.write(`\r${cut(text, this.#output.columns - 1)}${CLEAR_LINE}`);
  }
}

const MODES: { readonly [M in ExplorerProgress["mode"]]: string } = {
  crash: "crashes",
  twice: "pairs of crashes",
  pause: "pauses",
  close: "closes",
  disk: "full disks",
  random: "random schedules",
};
