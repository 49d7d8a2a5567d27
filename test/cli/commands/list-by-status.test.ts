import { expect, it } from "vitest";
import { forge } from "../forge.ts";
import { pawl } from "../recording-context.ts";
import { cliFolder, failSample, MAILING, runSamples, SEARCHING } from "../sample-runs.ts";

it("ls takes every status that it prints, and lists exactly the runs that it prints with it", async () => {
  const folder = cliFolder();
  await runSamples(folder, {
    "done-1": [SEARCHING],
    "q-1": [MAILING],
    "dead-1": [MAILING],
    "busy-1": [MAILING],
  });
  await failSample(folder, "bad-1");
  const running = (lease: number, runId: string) =>
    forge(
      folder.file,
      `UPDATE runs SET status = 'running', lease_until = ${lease} WHERE run_id = '${runId}'`,
    );
  running(0, "dead-1");
  running(Date.now() + 60_000, "busy-1");
  const rows = async (...argv: readonly string[]) =>
    (await pawl(["ls", ...argv], folder)).stdout
      .split("\n")
      .slice(1, -1)
      .map((line) => line.split(/ +/).slice(0, 2).join(" "));
  const all = await rows();
  expect(all.toSorted()).toEqual([
    "bad-1 failed",
    "busy-1 running",
    "dead-1 interrupted",
    "done-1 succeeded",
    "q-1 waiting",
  ]);
  for (const row of all) {
    const [, status = ""] = row.split(" ");
    expect(await rows("--status", status)).toEqual([row]);
  }
  for (const status of ["queued", "cancelled"])
    expect((await pawl(["ls", "--status", status], folder)).exitCode).toBe(0);
});
