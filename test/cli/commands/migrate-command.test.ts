import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { pawl } from "../recording-context.ts";
import { cliFolder } from "../sample-runs.ts";

it("creates the tables of a store, once and again", async () => {
  const folder = cliFolder();
  expect(existsSync(folder.file)).toBe(false);
  for (const _ of ["first", "again"]) {
    const { exitCode, stdout } = await pawl(["migrate"], folder);
    expect([exitCode, stdout]).toEqual([
      0,
      expect.stringMatching(/^The database .*pawl\.db has the tables of this\s(.|\s)*\b[0-9a-f]{32}\.\n$/),
    ]);
  }
  expect(existsSync(folder.file)).toBe(true);
});
