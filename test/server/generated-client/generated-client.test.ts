// A client in another language, made from the OpenAPI document by a generator of others.

import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { openApiDocument } from "../../../scripts/docs/openapi-document.ts";
import { CliFolder } from "../../cli/cli-process.ts";
import { WORKING_CONFIG } from "../../cli/working-config.ts";
import { IS_FULL_TEST } from "../../full-test.ts";
import { PATIENCE } from "../../patience.ts";
import { asOpenApi30 } from "./openapi-3-0.ts";

const root = resolve(import.meta.dirname, "../../..");
const run = promisify(execFile);
/** The last one that npm has with its program in it: later ones download that from elsewhere. */
const jar =
  process.env.OPENAPI_GENERATOR_JAR ??
  join(root, "node_modules/@openapitools/openapi-generator-cli/bin/openapi-generator.jar");

/** Writes the sources of a client, and returns their files. */
async function generatedClient(folder: string): Promise<readonly string[]> {
  writeFileSync(join(folder, "openapi.json"), JSON.stringify(asOpenApi30(openApiDocument())));
  const packages = ["invokerPackage=run.pawl.client", "apiPackage=run.pawl.client.api"];
  const options = [
    ...packages,
    "modelPackage=run.pawl.client.model",
    "openApiNullable=false",
    "dateLibrary=java8",
  ];
  const argv = ["-i", "openapi.json", "-g", "java", "--library", "native", "-o", "client"];
  const given = [`--additional-properties=${[...options, "java8=true"].join(",")}`];
  await run("java", ["-jar", jar, "generate", ...argv, ...given], { cwd: folder, maxBuffer: 2 ** 26 });
  const sources = join(folder, "client/src/main/java");
  return readdirSync(sources, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".java"))
    .map((file) => join(sources, file));
}

async function missing(): Promise<string | null> {
  if (!existsSync(jar)) return "the generator is not installed";
  const hasJava = await run("javac", ["-version"]).then(
    () => true,
    () => false,
  );
  return hasJava ? null : "there is no Java on this machine";
}

it.runIf(IS_FULL_TEST)(
  "a client in Java, generated from the document, lists, starts, approves and streams",
  PATIENCE,
  async ({ skip }) => {
    const why = await missing();
    skip(why !== null, why ?? "");
    const folder = mkdtempSync(join(tmpdir(), "pawl-generated-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const sources = await generatedClient(folder);
    expect(sources.length).toBeGreaterThan(80);
    const journey = join(import.meta.dirname, "Journey.java");
    const classes = join(folder, "classes");
    // The libraries that the client needs are those of the generator.
    await run("javac", ["-nowarn", "-d", classes, "-cp", jar, ...sources, journey], { maxBuffer: 2 ** 26 });

    const served = new CliFolder(WORKING_CONFIG);
    const command = served.start("serve", "--port", "0", "--json", "--worker");
    const { url } = JSON.parse(await command.waitForStdout("\n")) as { readonly url: string };
    const created = await served.pawl("token", "create", "--name", "ana", "--role", "operator", "--json");
    const { token } = JSON.parse(created.stdout) as { readonly token: string };
    const { stdout } = await run("java", ["-cp", `${classes}:${jar}`, "Journey", url, token], {
      timeout: 60_000,
    });
    expect(stdout.trim().split("\n").sort()).toEqual(
      [
        "runs before: 0",
        "started, existed: false",
        "asked to approve: {to=ada@example.com}",
        "approved by: ana",
        "streamed: 200 hello and what was done",
        "runs after: 1",
        "no such run: 404",
      ].sort(),
    );
    expect(served.log).toContain("mail to ada@example.com");
  },
);
