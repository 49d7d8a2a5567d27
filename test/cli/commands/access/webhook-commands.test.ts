// `pawl webhook`: addresses that events of runs are sent to.

import { expect, it } from "vitest";
import { pawl, pawlJson } from "../../recording-context.ts";
import { type CliFolder, cliFolder } from "../../sample-runs.ts";

async function emptyStore(): Promise<CliFolder> {
  const folder = cliFolder();
  await folder.withStore((store) => store.storeId());
  return folder;
}

type Added = { readonly secret: string; readonly webhook: { readonly webhookId: string } };

it("a webhook is added with a secret that is printed once, listed, tested, and removed", async () => {
  const folder = await emptyStore();
  const argv = ["webhook", "add", "https://example.com/pawl", "--event", "wait.opened"];
  const { exitCode, stdout } = await pawl([...argv, "--where", "tenant=acme"], { ...folder, columns: 300 });
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/gets wait\.opened of tenant=acme\..*shown once.*\nwhsec_\S{44}\n$/s);
  const secret = stdout.trim().split("\n").at(-1) ?? "";
  const { stdout: listed } = await pawl(["webhook", "ls"], { ...folder, columns: 300 });
  expect(listed).toMatch(/wh_\w{16} +https:\/\/example\.com\/pawl +wait\.opened +tenant=acme +on/);
  expect(listed).not.toContain(secret);
  const [webhook] = await folder.withStore((store) => store.listWebhooks());
  const id = webhook?.webhookId ?? "";
  expect((await pawl(["webhook", "test", id], folder)).exitCode).toBe(0);
  const [delivery] = await folder.withStore((store) => store.listDeliveries(id));
  expect(delivery).toMatchObject({ event: "webhook.test", state: "pending" });
  const again = await pawl(["webhook", "send-again", id, delivery?.deliveryId ?? ""], folder);
  expect(again.exitCode).toBe(0);
  const { stdout: deliveries } = await pawl(["webhook", "ls", id], { ...folder, columns: 200 });
  expect(deliveries).toMatch(/test:[\w-]+ +webhook\.test +.*pending +0 +never/);
  expect((await pawl(["webhook", "rm", id], folder)).exitCode).toBe(0);
  expect(await folder.withStore((store) => store.listWebhooks())).toEqual([]);
  const audit = await folder.withStore((store) => store.listAudit());
  expect(audit.map(({ act }) => act).reverse()).toEqual([
    "webhook.add",
    "webhook.test",
    "webhook.send-again",
    "webhook.rm",
  ]);
});

it("a secret is replaced by another one", async () => {
  const folder = await emptyStore();
  const { document: added } = await pawlJson<Added>(
    ["webhook", "add", "https://example.com/pawl", "--content"],
    folder,
  );
  const { webhookId } = added.webhook;
  const { document: rotated } = await pawlJson<Added>(["webhook", "rotate", webhookId], folder);
  expect(rotated.secret).toMatch(/^whsec_/);
  expect(rotated.secret).not.toBe(added.secret);
  expect(rotated.webhook).toMatchObject({ generation: 2, content: true });
});

it("what is not there is named, with what to do", async () => {
  const folder = await emptyStore();
  for (const argv of [["rm"], ["test"], ["rotate"], ["ls"]]) {
    const { exitCode, stderr } = await pawl(["webhook", ...argv, "wh_none"], folder);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining("There is no webhook wh_none")]);
  }
  const refused = await pawl(["webhook", "add", "http://example.com/"], folder);
  expect(refused.exitCode).not.toBe(0);
  expect(refused.stderr).toContain("give an https URL");
});
