import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";

const SERVERS = new URL("postgres-server.ts", import.meta.url).href;

it.each([0, 3])("a script that may start a server ends with its own exit code, %d", (code) => {
  const script = `import ${JSON.stringify(SERVERS)}; process.exitCode = ${code};`;
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    encoding: "utf8",
  });
  expect([status, stderr]).toEqual([code, ""]);
});
