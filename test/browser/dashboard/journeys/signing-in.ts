// Who comes in, and what each role is shown.

import { expect } from "vitest";
import { unzipped } from "../../../export/archive/read-zip.ts";
import { WAIT } from "../dashboard-world.ts";
import type { Journey } from "../journey.ts";

export const SIGNING_IN: readonly Journey[] = [
  {
    title: "opens the address that the server has printed, once, and finds a page without runs",
    isMain: true,
    run: async (test) => {
      const { world } = test;
      const ana = await test.stranger(world.printedAddress);
      await ana.isLive();
      await ana.sees("There are no runs yet");
      // The code is neither in the address nor in the history.
      expect(ana.path).toBe("/");
      const thief = await test.stranger(world.printedAddress);
      await thief.sees("Sign in to Pawl");
      await thief.sees("was not accepted");
      expect(await thief.request("GET", "/v1/me")).toBe(401);
      await ana.page.reload();
      await ana.isLive();
    },
  },
  {
    title: "may only look and save what is seen: there are no other buttons, and what those do is refused",
    isMain: true,
    run: async (test) => {
      const { world, name } = test;
      const runId = await world.worked(`${name}-1`, [{ tool: "refund", input: { order: "42" } }]);
      const waitId = await world.openWait(runId);
      const vera = await test.person("vera", "viewer", `/waits/${encodeURIComponent(waitId)}`);
      await vera.sees("42", vera.page.getByRole("region", { name: "Arguments" }));
      const acts = vera.page.getByRole("button", { name: /^(Approve|Deny|Answer|Settle)/ });
      expect(await acts.count()).toBe(0);
      await vera.page.keyboard.press("a");
      expect(await vera.dialog.count()).toBe(0);

      await vera.goto(`/runs/${runId}`);
      await vera.press("What would a resume do?");
      await vera.sees("A resume would:");
      expect(await vera.page.getByRole("button", { name: /^(Resume|Fork|Cancel|Answer)/ }).count()).toBe(0);
      const one = await vera.saves(() => vera.page.getByRole("link", { name: "Export" }).click());
      expect(one.name).toBe(`${runId}.zip`);
      expect(unzipped(one.bytes).get(`${runId}/transcript.md`)?.toString()).toContain("refund");
      await vera.goto("/?view=all");
      await vera.page.getByRole("checkbox", { name: `Select ${runId}` }).check();
      const selected = vera.page.getByRole("toolbar", { name: "Selected runs" });
      expect(await selected.getByRole("button").allInnerTexts()).toEqual(["Export…", "Clear"]);
      await vera.press("Export…", selected);
      const several = await vera.saves(() => vera.press("Export", vera.dialog));
      expect([...unzipped(several.bytes).keys()]).toContain("export.json");
      await expect.poll(() => vera.dialog.count(), WAIT).toBe(0);

      vera.expectStatus(403);
      const wait = await world.store.listWaits(runId);
      const body = { argumentsHash: wait[0]?.argumentsHash };
      expect(await vera.request("POST", `/v1/waits/${encodeURIComponent(waitId)}/approve`, body)).toBe(403);
      expect(await vera.request("POST", `/v1/runs/${runId}/cancel`)).toBe(403);
      expect(await world.openWait(runId)).toBe(waitId);
      expect(await world.status(runId)).toBe("waiting");
    },
  },
  {
    title: "is an operator: acts on runs, and neither sees nor reaches who may come in",
    run: async (test) => {
      const { world } = test;
      const oli = await test.person("oli", "operator", "/access");
      await oli.sees("Only admins see tokens and the audit log.");
      const pages = oli.page.getByRole("navigation", { name: "Pages" });
      expect(await pages.getByRole("link").allInnerTexts()).not.toContain("Access");
      expect(await oli.page.getByRole("button", { name: /token/i }).count()).toBe(0);
      oli.expectStatus(403);
      expect(await oli.request("GET", "/v1/tokens")).toBe(403);
      expect(await oli.request("POST", "/v1/tokens", { name: "mine", role: "admin" })).toBe(403);
      expect(await oli.request("GET", "/v1/audit")).toBe(403);

      const ada = await test.person("ada", "admin", "/access");
      await expect
        .poll(() => ada.page.getByRole("button", { name: /token/i }).count(), WAIT)
        .toBeGreaterThan(0);
      expect((await world.store.listAccess()).filter(({ kind }) => kind === "token")).toEqual([]);
    },
  },
];
