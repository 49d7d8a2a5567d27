import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { openStore } from "../../../../src/index.ts";
import { databaseFile } from "../../../engine/run-fixture.ts";
import { PATIENCE } from "../../../patience.ts";

const script = fileURLToPath(new URL("./children/streams.ts", import.meta.url));

/** Starts the call in a process of its own. Resolves with its first line. */
async function call(...args: string[]) {
  const child = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { child, said: (await lines.next()).value as string | undefined };
}

const SHOWN = 'shown {"order":7,"paid":true}';

describe("a process that is killed in the middle of agent.stream()", () => {
  it.each([
    { kind: "conversation", hangs: "model 2" },
    { kind: "agent", hangs: "model 2" },
    { kind: "conversation", hangs: SHOWN },
  ])(
    "loses nothing: the same call again ($kind, at $hangs) has paid once",
    PATIENCE,
    async ({ kind, hangs }) => {
      const file = databaseFile();
      const witness = `${file}.witness`;
      const first = await call(file, witness, kind, hangs);
      expect(first.said).toBe("hangs");
      first.child.kill("SIGKILL");
      await once(first.child, "exit");
      const second = await call(file, witness, kind);
      expect(second.said).toBe("Paid.");
      await once(second.child, "exit");
      const seen = readFileSync(witness, "utf8").trim().split("\n");
      expect(seen.filter((what) => what === "pay")).toHaveLength(1);
      expect(seen.filter((what) => what === "model 1")).toHaveLength(1);
      expect(seen.filter((what) => what === SHOWN).length).toBeGreaterThan(0);
      const store = await openStore(`file:${file}`, { readOnly: true });
      onTestFinished(() => store.close());
      expect((await store.listToolCalls("c-1")).map(({ attempt }) => attempt)).toEqual([1]);
      expect((await store.verify("c-1")).problems).toEqual([]);
    },
  );
});
