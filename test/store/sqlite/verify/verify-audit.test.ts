// The audit log in a file that somebody has edited: the first entry that is not what was written is named.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openStore } from "../../../../src/store/open-store.ts";
import { newAuditEntry } from "../../../../src/testing/store/sample-access.ts";
import { editor } from "./tampered-store.ts";

/** What is wrong with a log of four entries after this statement. */
async function problemAfter(sql: string) {
  const folder = mkdtempSync(join(tmpdir(), "pawl-audit-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "pawl.db");
  const store = await openStore(`file:${file}`);
  await store.recordAudit(["Ann", "Bob", "Cid", "Dan"].map((name) => newAuditEntry(name)));
  expect((await store.verifyAudit()).problem).toBeNull();
  const database = editor(file);
  database.exec(sql);
  database.close();
  const { problem } = await store.verifyAudit();
  await store.close();
  return problem;
}

describe("an audit log that was edited", () => {
  it.each([
    "at = 7",
    "who = 'Eve'",
    "access_id = NULL",
    "role = 'admin'",
    "act = 'runs.show'",
    "target = NULL",
    "status = 403",
    "problem = 'forbidden'",
    "request_id = 'q-2'",
    "previous_hash = zeroblob(32)",
    "hash = zeroblob(32)",
  ])("is noticed by the changed entry: %s", async (change) => {
    expect((await problemAfter(`UPDATE audit_log SET ${change} WHERE audit_no = 2`))?.no).toBe(2);
  });

  it.each([
    ["the first", "audit_no = 1", 1],
    ["one in the middle", "audit_no = 3", 3],
  ])("is noticed by a missing entry: %s", async (_, which, no) => {
    expect((await problemAfter(`DELETE FROM audit_log WHERE ${which}`))?.no).toBe(no);
  });

  it("is noticed by an entry that was put in", async () => {
    const copy = `INSERT INTO audit_log SELECT 5, at, 'Eve', access_id, role, act, target, status, problem, request_id,
      previous_hash, hash, NULL FROM audit_log WHERE audit_no = 4`;
    expect((await problemAfter(copy))?.no).toBe(5);
  });
});
