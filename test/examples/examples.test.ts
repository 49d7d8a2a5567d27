import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { PATIENCE } from "../patience.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

function node(file: string, cwd: string, ...args: readonly string[]) {
  return spawnSync(process.execPath, [file, ...args], { cwd, encoding: "utf8" });
}

function rowsOf(stdout: string): string[][] {
  return [...stdout.matchAll(/^(\S.*?) {2,}(\d+) +(\d+) {2}(.)$/gm)].map((row) => row.slice(1));
}

test(
  "the demo kills its agent twice and counts every turn, model call and effect as expected",
  PATIENCE,
  () => {
    const { stdout, stderr, status } = node(join(root, "examples/kill-and-resume/main.ts"), root);
    expect(stderr).toBe("");
    expect(stdout.match(/killed with SIGKILL/g)).toHaveLength(2);
    expect(rowsOf(stdout)).toEqual([
      ["turns committed", "6", "6", "✓"],
      ["model calls", "6", "6", "✓"],
      ["notes delivered", "5", "5", "✓"],
      ["repeated notes the other side dropped by key", "1", "1", "✓"],
    ]);
    expect(status).toBe(0);
  },
);

test(
  "the second demo looks up what can be, asks a person about the rest, and nothing happens twice",
  PATIENCE,
  () => {
    const { stdout, stderr, status } = node(join(root, "examples/in-doubt/main.ts"), root);
    expect(stderr).toBe("");
    expect(stdout.match(/killed with SIGKILL/g)).toHaveLength(2);
    expect(stdout.match(/asks the bank/g)).toHaveLength(1);
    expect(stdout.match(/waits: /g)).toHaveLength(2);
    expect(rowsOf(stdout)).toEqual([
      ["refunds", "1", "1", "✓"],
      ["letters", "1", "1", "✓"],
      ["accounts closed", "1", "1", "✓"],
      ["rows changed since they were written", "0", "0", "✓"],
    ]);
    expect(status).toBe(0);
  },
);

test(
  "the third demo resumes as another version from the last milestone, and nothing is repeated",
  PATIENCE,
  () => {
    const { stdout, stderr, status } = node(join(root, "examples/milestones/main.ts"), root);
    expect(stderr).toBe("");
    expect(stdout.match(/killed with SIGKILL/g)).toHaveLength(1);
    expect(stdout).toContain("left behind: .lock, checkpoint.json, request.json");
    const [, after = ""] = stdout.split("resumes from milestone 2");
    expect(after).toContain("turn 7: the prompt shows 2 ✓ and 2 remaining");
    expect(after).not.toMatch(/analyses (parser|printer|runtime)\.ts/);
    expect(rowsOf(stdout)).toEqual([
      ["analyses ordered and paid for", "4", "4", "✓"],
      ["repeated orders the other side dropped by key", "1", "1", "✓"],
      ["results in the session", "4", "4", "✓"],
      ["model calls", "11", "11", "✓"],
      ["rows changed since they were written", "0", "0", "✓"],
    ]);
    expect(status).toBe(0);
  },
);

test(
  "a server that is killed, and later stopped, gives two customers with the same words one run each",
  PATIENCE,
  () => {
    const { stdout, stderr, status } = node(join(root, "examples/server/main.ts"), root);
    expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
    expect(rowsOf(stdout)).toEqual([
      ["runs", "2", "2", "✓"],
      ["refunds, each with its own key", "6", "6", "✓"],
      ["orders refunded for Ann", "3", "3", "✓"],
      ["orders refunded for Bob", "3", "3", "✓"],
    ]);
  },
);

test(
  "the support desk refunds a small and a large ticket once each, with an approval and webhooks",
  PATIENCE,
  () => {
    const { stdout, stderr, status } = node(join(root, "examples/support-desk/main.ts"), root);
    expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
    expect(stdout).toContain("large is waiting, for: approval");
    expect(stdout.match(/Ann reads: Your refund re-\d is on your account\./g)).toHaveLength(2);
    expect(rowsOf(stdout)).toEqual([
      ["refunds, by the payment service's log", "2", "2", "✓"],
      ["webhooks accepted", "2", "2", "✓"],
      ["tickets answered", "2", "2", "✓"],
    ]);
  },
);

test(
  "the chat answers whole messages, although all of its processes are killed in the middle",
  PATIENCE,
  () => {
    const { stdout, stderr, status } = node(join(root, "examples/chat/main.ts"), root, "--once");
    expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
    expect(stdout).toContain("kill -9 of the server and both workers");
    expect(rowsOf(stdout)).toEqual([
      ["messages stored", "4", "4", "✓"],
      ["messages that Ann sees as they are stored", "4", "4", "✓"],
      ["refunds, by the shop's own count", "1", "1", "✓"],
    ]);
  },
);
