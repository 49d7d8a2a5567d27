import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { openStore, type Store } from "../../src/index.ts";
import { isAlive, linesIn, temporaryFolder, until } from "./mcp-fixture.ts";

const WORKER = fileURLToPath(new URL("./killed-run.ts", import.meta.url));

type End = { readonly signal: string | null; readonly output: string };

/** A process that works on the run; `kill` is a real SIGKILL. */
function work(folder: string, how = ""): { kill(): void; readonly end: Promise<End> } {
  let child: ReturnType<typeof execFile> | undefined;
  const end = new Promise<End>((resolve) => {
    child = execFile(process.execPath, [WORKER, folder, how], { timeout: 25_000 }, (error, stdout, stderr) =>
      resolve({ signal: error?.signal ?? null, output: `${stdout}${stderr}` }),
    );
  });
  return { kill: () => void child?.kill("SIGKILL"), end };
}

async function worked(folder: string): Promise<unknown> {
  const { output } = await work(folder).end;
  return JSON.parse(output.trimEnd().split("\n").at(-1) ?? "");
}

/** Waits until the relays and the servers behind them, of all processes so far, are gone. */
async function allServersGone(folder: string, started: number): Promise<void> {
  const pids = linesIn(join(folder, "pids")).map(Number);
  expect(pids).toHaveLength(2 * started);
  await until(() => !pids.some(isAlive), "the servers are gone");
}

/** The processes with the folder in their environment: the servers that are not behind the relay. */
function givenTheFolder(folder: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, "utf8").includes(folder);
    } catch {
      return false; // It has ended meanwhile.
    }
  });
}

async function withStore<T>(folder: string, use: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(`file:${join(folder, "pawl.db")}`);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

it("A run that is killed during a write and between two turns asks about the write, resumes, and does nothing twice", async () => {
  const folder = temporaryFolder();
  const inDoubt = "r-1/clerk#1.1";

  // The server has written the file, and its answer does not arrive.
  writeFileSync(join(folder, "hold"), "");
  const worker = work(folder);
  await until(() => existsSync(join(folder, "held")), "the server has written the file");
  expect(givenTheFolder(folder)).toHaveLength(2);
  worker.kill();
  expect(await worker.end).toMatchObject({ signal: "SIGKILL" });
  await allServersGone(folder, 1);
  await until(() => givenTheFolder(folder).length === 0, "the other servers are gone");
  rmSync(join(folder, "hold"));
  expect(readFileSync(join(folder, "note.txt"), "utf8")).toBe("Water boils at 100 °C.");

  expect(await worked(folder)).toMatchObject({
    status: "waiting",
    waits: [{ kind: "in_doubt", toolCallId: inDoubt }],
  });
  await withStore(folder, (store) =>
    store.settle(inDoubt, { as: "succeeded", result: "It is there." }, { by: "ann" }),
  );

  expect(await work(folder, "dies").end).toMatchObject({ signal: "SIGKILL" });
  expect(await worked(folder)).toEqual({
    status: "succeeded",
    output: "All is written down.",
    waits: [],
    isWritten: true,
  });
  expect(linesIn(join(folder, "calls"))).toEqual(["write_file", "read_text_file"]);
  expect(linesIn(join(folder, "memory.jsonl"))).toHaveLength(1);
  await allServersGone(folder, linesIn(join(folder, "pids")).length / 2);
  expect(givenTheFolder(folder)).toEqual([]);
  const calls = await withStore(folder, (store) => store.listToolCalls("r-1"));
  expect(calls.map(({ tool, attempt, status }) => ({ tool, attempt, status }))).toEqual([
    { tool: "files__write_file", attempt: 1, status: "succeeded" },
    { tool: "memory__create_entities", attempt: 1, status: "succeeded" },
    { tool: "files__read_text_file", attempt: 1, status: "succeeded" },
    { tool: "things__echo", attempt: 1, status: "succeeded" },
  ]);
}, 60_000);
