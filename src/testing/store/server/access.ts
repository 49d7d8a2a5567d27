import assert from "node:assert/strict";
import { ConfigurationError } from "../../../core/errors.ts";
import type { NewAccess } from "../../../store/store.ts";
import { type Check, check, checkSeveral, rejection } from "../check.ts";
import { newAccess } from "../sample-access.ts";

const MINUTE_MS = 60_000;

export const accessChecks: readonly Check[] = [
  check("a token is found by its hash, with its role and its scope", async ({ store, now }) => {
    const scope = { pipelines: ["report"], labels: { tenant: "acme" } };
    const token = newAccess("token", "Ann 🙂", { role: "viewer", scope, expiresAt: now() + 1 });
    const { hash, ...rest } = token;
    const granted = await store.grantAccess(token);
    const unused = { redeemedAt: null, lastUsedAt: null, revokedAt: null, madeFrom: null };
    assert.deepEqual(granted, { id: granted.id, createdAt: now(), ...rest, ...unused });
    assert.deepEqual(await store.findAccess(hash), granted);
    assert.deepEqual(await store.getAccess(granted.id), granted);
    assert.deepEqual(await store.listAccess(), [granted]);
    assert.equal(await store.findAccess(newAccess("token", "Bob").hash), null);
    assert.equal(await store.getAccess("nobody"), null);
  }),

  check("the same token again changes nothing", async ({ store, advance }) => {
    const granted = await store.grantAccess(newAccess("token", "Ann"));
    advance(1_000);
    assert.deepEqual(await store.grantAccess(newAccess("token", "Ann", { role: "admin" })), granted);
  }),

  check("access is listed with the newest first", async ({ store, advance }) => {
    for (const name of ["Ann", "Bob", "Cid"]) {
      await store.grantAccess(newAccess("token", name));
      advance(10);
    }
    const names = (await store.listAccess()).map(({ name }) => name);
    assert.deepEqual(names, ["Cid", "Bob", "Ann"]);
  }),

  check("a code is redeemed once", async ({ store, now, advance }) => {
    const code = newAccess("code", "Ann", { expiresAt: now() + 5 * MINUTE_MS });
    const granted = await store.grantAccess(code);
    advance(1_000);
    const redeemed = { ...granted, redeemedAt: now(), lastUsedAt: now() };
    assert.deepEqual(await store.redeemCode(code.hash), redeemed);
    assert.equal(await store.redeemCode(code.hash), null);
    assert.deepEqual(await store.getAccess(granted.id), redeemed);
  }),

  checkSeveral("one of two servers that redeem a code at once gets it", async ({ store, openAnother }) => {
    const another = await openAnother();
    const code = newAccess("code", "Ann");
    await store.grantAccess(code);
    const outcomes = await Promise.all([store, another].map((each) => each.redeemCode(code.hash)));
    assert.equal(outcomes.filter((outcome) => outcome !== null).length, 1);
  }),

  check("a token is no code, and an unknown, expired or revoked code is worth nothing", async (scene) => {
    const { store, now, advance } = scene;
    const token = newAccess("token", "Ann");
    const old = newAccess("code", "Bob", { expiresAt: now() + MINUTE_MS });
    const ended = newAccess("code", "Cid");
    for (const each of [token, old, ended]) await store.grantAccess(each);
    await store.revokeAccess((await store.findAccess(ended.hash))?.id ?? "");
    advance(MINUTE_MS);
    for (const { hash } of [token, old, ended, newAccess("code", "nobody")])
      assert.equal(await store.redeemCode(hash), null);
  }),

  check("revoking ends a token for good, and what was made from it", async ({ store, now, advance }) => {
    const token = await store.grantAccess(newAccess("token", "Ann"));
    const code = newAccess("code", "Ann", { madeFrom: token.id });
    const { id } = await store.grantAccess(code);
    await store.grantAccess(newAccess("token", "of the code", { madeFrom: id }));
    await store.grantAccess(newAccess("token", "Bob"));
    advance(1_000);
    const revoked = { ...token, revokedAt: now() };
    assert.deepEqual(await store.revokeAccess(token.id), revoked);
    const lives = (await store.listAccess()).filter(({ revokedAt }) => revokedAt === null);
    assert.deepEqual(
      lives.map(({ name }) => name),
      ["Bob"],
    );
    assert.equal(await store.redeemCode(code.hash), null);
    advance(1_000);
    assert.deepEqual(await store.revokeAccess(token.id), revoked, "the first time counts");
    assert.equal(await store.revokeAccess("nobody"), null);
  }),

  check("a session ends without what was made in it, which a revocation still ends", async (scene) => {
    const { store, now, advance } = scene;
    const token = await store.grantAccess(newAccess("token", "Ann"));
    const code = newAccess("code", "Ann", { madeFrom: token.id });
    const { id } = await store.grantAccess(code);
    const made = await store.grantAccess(newAccess("token", "of the session", { madeFrom: id }));
    await store.redeemCode(code.hash);
    const ended = now();
    for (const each of [id, token.id, "nobody"]) await store.endSession(each);
    const end = async (of: string) => (await store.getAccess(of))?.revokedAt;
    assert.deepEqual([await end(id), await end(made.id), await end(token.id)], [ended, null, null]);
    advance(1_000);
    await store.endSession(id);
    await store.revokeAccess(token.id);
    assert.deepEqual([await end(id), await end(made.id), await end(token.id)], [ended, now(), now()]);
  }),

  check("nothing is made from what was revoked, or is not there", async ({ store }) => {
    const token = await store.grantAccess(newAccess("token", "Ann"));
    await store.revokeAccess(token.id);
    for (const madeFrom of [token.id, "nobody"])
      await assert.rejects(store.grantAccess(newAccess("code", "Ann", { madeFrom })), ConfigurationError);
    assert.equal((await store.listAccess()).length, 1);
  }),

  check("the last use of a token is noted to a minute", async ({ store, now, advance }) => {
    const { id } = await store.grantAccess(newAccess("token", "Ann"));
    const lastUse = async () => (await store.getAccess(id))?.lastUsedAt;
    await store.noteAccessUse(id);
    const first = now();
    assert.equal(await lastUse(), first);
    advance(MINUTE_MS - 1);
    await store.noteAccessUse(id);
    assert.equal(await lastUse(), first);
    advance(1);
    await store.noteAccessUse(id);
    assert.equal(await lastUse(), first + MINUTE_MS);
    await store.noteAccessUse("nobody");
  }),

  check("an access without a name, a role or a hash is refused", async ({ store }) => {
    const wrong: readonly unknown[] = [
      { kind: "cookie" },
      { name: " " },
      { createdBy: "" },
      { role: "root" },
      { scope: { pipelines: [] } },
      { scope: { labels: {} } },
      { scope: { tenant: "acme" } },
      { hash: new Uint8Array(31) },
      { expiresAt: Number.NaN },
      { name: "a".repeat(2_000) },
    ];
    for (const over of wrong) {
      const error = await rejection(store.grantAccess(newAccess("token", "Ann", over as Partial<NewAccess>)));
      assert.ok(ConfigurationError.isInstance(error), String(error));
    }
    assert.deepEqual(await store.listAccess(), []);
  }),
];
