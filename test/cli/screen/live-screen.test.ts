import { expect, it } from "vitest";
import { LiveScreen } from "../../../src/cli/screen/live-screen.ts";
import { TerminalEmulator } from "../terminal-emulator.ts";

it("counts the lines that a short window has no room for", () => {
  const terminal = new TerminalEmulator(60);
  const screen = new LiveScreen({ ...terminal.output, rows: 5 });
  const text = (lines: number) => Array.from({ length: lines }, (_, i) => `line ${i + 1}`).join("\n");
  const shown = () => terminal.rows.filter((row) => row !== "");
  screen.draw(text(4));
  expect(shown()).toEqual(["line 1", "line 2", "line 3", "line 4"]);
  screen.draw(text(7));
  expect(shown()).toEqual(["line 1", "line 2", "line 3", "… 4 more lines: enlarge the window"]);
});
