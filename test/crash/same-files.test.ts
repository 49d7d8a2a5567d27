import { copyFileSync, existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { asError, asResult, crashFolder } from "./harness/crash-folder.ts";

const run = { scenario: "errands", act: { do: "run", input: "town" } } as const;
const variant = { payRecovery: "opaque", readsBesideIn: 2 } as const;

describe("a worker whose tool has read every file beside the database", () => {
  test.for(["reads the store", "opens and closes the store", "asks for the run"])(
    "loses no committed turn when another process %s and it is killed",
    async (what) => {
      const folder = crashFolder();
      const wait = { at: "after-effect", turn: 4, tool: "pay" } as const;
      const first = folder.start({ ...run, variant, wait });
      await folder.untilWaiting();
      if (what === "reads the store") await folder.withStore((store) => store.listRuns(), { readOnly: true });
      if (what === "opens and closes the store") await folder.withStore((store) => store.listRuns());
      if (what === "asks for the run")
        expect((await folder.error({ ...run, variant })).name).toBe("RunBusyError");
      first.kill("SIGKILL");
      await first.end;
      const [left] = await folder.withStore((store) => store.listRuns());
      const turns = await folder.withStore((store) => store.listTurns(left?.runId ?? ""));
      expect(turns.map(({ turnIndex }) => turnIndex)).toEqual([1, 2, 3, 4]);
      const result = await folder.result({ ...run, variant });
      expect(result, "only the running call is asked about").toMatchObject({ status: "waiting" });
      expect([folder.tries("pay"), folder.outside().length]).toEqual([4, 4]);
    },
  );

  test("keeps its run although another process asks for it", async () => {
    const folder = crashFolder();
    const wait = { at: "before-effect", turn: 3, tool: "pay" } as const;
    const first = folder.start({ ...run, variant, wait });
    await folder.untilWaiting();
    expect((await folder.error({ ...run, variant })).name).toBe("RunBusyError");
    folder.allow("release");
    expect(asResult(await first.end)).toMatchObject({ status: "succeeded", resumed: false });
    expect(folder.outside()).toHaveLength(4);
  });
});

describe("a worker whose database disappears", () => {
  test.for(["deleted", "moved", "replaced", "without its log"])(
    "stops before the next commit is acknowledged, with an error: %s",
    async (how) => {
      const folder = crashFolder();
      const file = join(folder.path, "pawl.db");
      const wait = { at: "before-effect", turn: 2, tool: "pay" } as const;
      const first = folder.start({ ...run, variant: { payRecovery: "opaque" }, wait });
      await folder.untilWaiting();
      const kept = join(folder.path, "kept");
      if (how === "without its log") rmSync(`${file}-wal`);
      else renameSync(file, kept);
      if (how === "replaced") copyFileSync(kept, file);
      if (how === "deleted") rmSync(kept);
      folder.allow("release");
      const error = asError(await first.end);
      expect(error).toMatchObject({ name: "StoreUnavailableError", details: { reason: "commit_unknown" } });
      expect(error.message).toMatch(/was deleted, moved or replaced/);
      expect(folder.tries("pay"), "nothing else was done").toBe(2);
    },
  );
});

describe("the log of a database", () => {
  test("is never removed, and is empty once all processes have closed it", async () => {
    const folder = crashFolder();
    await folder.result(run);
    const files = readdirSync(folder.path).filter((name) => name.startsWith("pawl.db"));
    expect(files.sort()).toEqual(["pawl.db", "pawl.db-shm", "pawl.db-wal"]);
    rmSync(join(folder.path, "pawl.db-wal"));
    rmSync(join(folder.path, "pawl.db-shm"));
    expect(existsSync(join(folder.path, "pawl.db"))).toBe(true);
    const [kept] = await folder.withStore((store) => store.listRuns());
    expect(kept?.status).toBe("succeeded");
  });
});
