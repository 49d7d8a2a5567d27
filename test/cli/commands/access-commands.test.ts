// `pawl token` and `pawl audit`: who may use a server of the store, and what people did.

import { describe, expect, it } from "vitest";
import { accessHash } from "../../../src/core/access/access-secret.ts";
import { newAuditEntry } from "../../../src/testing/store/sample-access.ts";
import { pawl, pawlJson } from "../recording-context.ts";
import { type CliFolder, cliFolder } from "../sample-runs.ts";

type Created = { readonly token: string; readonly access: { readonly id: string } };

async function emptyStore(): Promise<CliFolder> {
  const folder = cliFolder();
  await folder.withStore((store) => store.storeId());
  return folder;
}

describe("pawl token", () => {
  it("creates a token that the store finds by its hash, and prints it once", async () => {
    const folder = await emptyStore();
    const argv = ["token", "create", "--name", "ana", "--role", "operator", "--pipeline", "report"];
    const { exitCode, stdout } = await pawl([...argv, "--where", "tenant=acme", "--expires", "30d"], {
      ...folder,
      columns: 300,
    });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /^This is the token of ana, as operator of pipeline report, tenant=acme, until \d{4}-.*shown once.*\npawl_\S{43}\n$/s,
    );
    const secret = stdout.trim().split("\n").at(-1) ?? "";
    const access = await folder.withStore((store) => store.findAccess(accessHash(secret)));
    expect(access).toMatchObject({
      kind: "token",
      name: "ana",
      role: "operator",
      scope: { pipelines: ["report"], labels: { tenant: "acme" } },
    });
    const { stdout: listed } = await pawl(["token", "ls"], { ...folder, columns: 200 });
    expect(listed).toMatch(/ana +token +operator +pipeline report, tenant=acme +valid +never/);
    expect(listed).not.toContain(secret);
  });

  it("creates a token before there is a run, and says which database it creates for that", async () => {
    const folder = cliFolder();
    const { exitCode, stdout, stderr } = await pawl(["token", "create", "--name", "ana"], folder);
    expect([exitCode, stderr]).toEqual([
      0,
      expect.stringMatching(/^There was no database at .*: it is created\.\n$/),
    ]);
    const secret = stdout.trim().split("\n").at(-1) ?? "";
    expect(await folder.withStore((store) => store.findAccess(accessHash(secret)))).toMatchObject({
      name: "ana",
    });
    const again = await pawl(["token", "create", "--name", "ben"], folder);
    expect([again.exitCode, again.stderr]).toEqual([0, ""]);
    const listed = await pawl(["token", "ls", "--store", "file:./misspelt.db"], folder);
    expect([listed.exitCode, listed.stderr]).toEqual([1, expect.stringContaining("There is no database")]);
  });

  it("logs a person in with a code of five minutes", async () => {
    const folder = await emptyStore();
    const { document } = await pawlJson<{ code: string; access: { expiresAt: number; createdAt: number } }>(
      ["token", "login", "--role", "admin", "--by", "ann"],
      folder,
    );
    expect(document).toMatchObject({ access: { kind: "code", name: "ann", role: "admin" } });
    const redeemed = await folder.withStore((store) => store.redeemCode(accessHash(document.code)));
    expect(redeemed?.name).toBe("ann");
  });

  it("revokes a token by its id, and says so if there is none", async () => {
    const folder = await emptyStore();
    const { document } = await pawlJson<Created>(["token", "create", "--name", "ana\u202e"], folder);
    const { id } = document.access;
    const { exitCode, stdout } = await pawl(["token", "revoke", id], folder);
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining("is revoked")]);
    expect(stdout).not.toContain("\u202e");
    expect((await folder.withStore((store) => store.getAccess(id)))?.revokedAt).not.toBeNull();
    const missing = await pawl(["token", "revoke", "nobody"], folder);
    expect([missing.exitCode, missing.stderr]).toEqual([2, expect.stringContaining("pawl token ls")]);
  });

  it.each([
    [["create"], "needs a name"],
    [["create", "--name", "ana", "--expires", "soon"], "--expires"],
    [["create", "--name", "ana", "--where", "acme"], "--where"],
    [["create", "--name", "ana", "--role", "root"], "role"],
  ])("refuses %j with a sentence", async (argv, message) => {
    const { exitCode, stderr } = await pawl(["token", ...argv], await emptyStore());
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it("says how to make the first one", async () => {
    const { stdout } = await pawl(["token", "ls"], await emptyStore());
    expect(stdout).toContain("pawl token create --name ana");
  });
});

describe("pawl audit", () => {
  it("lists what people did, the newest first, and what was done to tokens", async () => {
    const folder = await emptyStore();
    await folder.withStore((store) =>
      store.recordAudit([
        newAuditEntry("ann"),
        newAuditEntry("bob\u001b[31m", { status: 403, problem: "forbidden" }),
      ]),
    );
    await pawl(["token", "create", "--name", "ana", "--by", "root"], folder);
    const { exitCode, stdout } = await pawl(["audit"], { ...folder, columns: 200 });
    expect(exitCode).toBe(0);
    expect(stdout).not.toContain("\u001b");
    const [, first, second] = stdout.split("\n");
    expect(first).toMatch(/root +token\.create +[0-9a-f]{16} +200/);
    expect(second).toMatch(/bob.*runs\.cancel +run-1 +403 forbidden/);
    const { document } = await pawlJson(
      ["audit", "--who", "ann", "--act", "runs.cancel", "--since", "1d"],
      folder,
    );
    expect(document).toMatchObject({ entries: [{ no: 1, who: { name: "ann" } }] });
    const page = await pawlJson(["audit", "--limit", "1", "--after", "2"], folder);
    expect(page.document).toMatchObject({ entries: [{ no: 1 }] });
  });

  it("verifies the log, and prints the hash to keep", async () => {
    const folder = await emptyStore();
    await folder.withStore((store) => store.recordAudit([newAuditEntry("ann")]));
    const { exitCode, stdout } = await pawl(["audit", "--verify"], { ...folder, columns: 300 });
    expect([exitCode, stdout]).toEqual([
      0,
      expect.stringMatching(
        /has 1 entry, and none was changed or removed\. The last one is 1, .*[0-9a-f]{64}/,
      ),
    ]);
    const stray = await pawl(["audit", "--verify", "--who", "ann"], folder);
    expect([stray.exitCode, stray.stderr]).toEqual([2, expect.stringContaining("leave --who out")]);
  });
});
