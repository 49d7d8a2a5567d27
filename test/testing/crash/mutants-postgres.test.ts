// The planted bugs again, on PostgreSQL; and bugs in the driver of PostgreSQL.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { IS_FULL_TEST, sampled } from "../../full-test.ts";
import { assertPlantable, makeBundleFolder } from "../../patched-sources.ts";
import { PATIENCE } from "../../patience.ts";
import { type ExplorerServer, explorerServer } from "./explorer-server.ts";
import { type Bundled, loadPatched } from "./mutants/bundle-mutant.ts";
import { MUTANTS } from "./mutants/index.ts";
import { isForPostgres } from "./mutants/mutant.ts";
import { CHECKED_POSTGRES_MUTANTS, POSTGRES_MUTANTS } from "./mutants/postgres-mutants.ts";
import { expectFound } from "./mutants/try-mutant.ts";

const SHARED = MUTANTS.filter(isForPostgres);
const NUMBERED = [...POSTGRES_MUTANTS, ...SHARED].map((mutant, i) => ({ ...mutant, i }));

const { folder, remove } = makeBundleFolder();
let server: ExplorerServer | null = null;
let sound: Bundled;
beforeAll(async () => {
  server = await explorerServer("postgres");
  sound = await loadPatched(folder, "sound", []);
}, 120_000);
afterAll(async () => {
  remove();
  await server?.stop();
}, 60_000);

const url = () => server?.database ?? "";

describe("the explorer on PostgreSQL", () => {
  it.for(sampled(NUMBERED, 24))("notices that $what", PATIENCE, async (mutant) => {
    const patched = await loadPatched(folder, `mutant-${mutant.i}`, mutant.patches);
    await expectFound(mutant, patched, sound, url());
  });

  it("has most of the bugs that it finds on SQLite", () => {
    expect(SHARED.length).toBeGreaterThan(MUTANTS.length * 0.8);
    for (const { sqliteOnly } of MUTANTS) if (sqliteOnly !== undefined) expect(sqliteOnly).toMatch(/\.$/);
  });
});

describe("a check of its own", () => {
  const numbered = CHECKED_POSTGRES_MUTANTS.map((mutant, i) => ({ ...mutant, i }));

  it.for(IS_FULL_TEST ? numbered : numbered.slice(0, 3))("notices that $what", PATIENCE, async (mutant) => {
    expect(await mutant.check(sound, url())).toBe(true);
    const patched = await loadPatched(folder, `checked-${mutant.i}`, mutant.patches);
    expect(await mutant.check(patched, url())).toBe(false);
  });

  it("finds its text in the sources", () => {
    for (const { patches } of [...POSTGRES_MUTANTS, ...CHECKED_POSTGRES_MUTANTS]) assertPlantable(patches);
  });
});
