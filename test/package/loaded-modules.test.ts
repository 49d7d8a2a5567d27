// What is loaded when a part of Pawl is used: what it does not need must not cost time at start-up.

import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadedModules } from "./loaded-modules.ts";
import { packedProject, root } from "./packed-project.ts";

/** The sources that an import of one of them loads, as paths below `src`. */
function sourcesLoadedBy(file: string): string[] {
  const { loaded } = loadedModules(["--input-type=module", "-e", `import "./src/${file}";`], root);
  return loaded.flatMap((url) => url.split("/src/")[1] ?? []);
}

const within = (folder: string) => (file: string) => file.startsWith(folder);

describe("pawl/testing", () => {
  it("loads neither the crash explorer nor the conformance suite of stores", () => {
    const sources = sourcesLoadedBy("testing/index.ts");
    expect(sources).toContain("testing/scripted-model.ts");
    expect(sources.filter(within("testing/crash/"))).toEqual([]);
    expect(sources.filter(within("testing/store/"))).toEqual([]);
  });

  it("has entries of their own for them, and neither loads the other", () => {
    const [crash, store] = [
      sourcesLoadedBy("testing/crash/index.ts"),
      sourcesLoadedBy("testing/store/index.ts"),
    ];
    expect(crash).toContain("testing/crash/crash-explorer.ts");
    expect(crash.filter(within("testing/store/"))).toEqual([]);
    expect(store).toContain("testing/store/store-conformance.ts");
    expect(store.filter(within("testing/crash/"))).toEqual([]);
  });
});

describe("the packed package", () => {
  let project: string;
  beforeAll(async () => {
    project = await packedProject();
  }, 120_000);
  afterAll(() => rmSync(project, { recursive: true, force: true }));

  /** Names of the packages, and of the package's own files, that were loaded. */
  const namesOf = (loaded: readonly string[]) =>
    loaded
      .filter((url) => url.startsWith("file:"))
      .map(
        (url) =>
          /.*\/node_modules\/pawl\/dist\/(?:chunks\/)?(.*?)(?:-[\w-]{8})?\.js$/.exec(url)?.[1] ??
          /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ??
          url,
      );
  const importing = (code: string) =>
    namesOf(loadedModules(["--input-type=module", "-e", code], project).loaded);

  it("lists runs without zod, YAML, prompts, or the code of other commands", () => {
    const store = `file:${join(project, "pawl.db")}`;
    importing(`import { openStore } from "pawl"; await (await openStore(${JSON.stringify(store)})).close();`);
    const main = "node_modules/pawl/dist/cli/main.js";
    const { loaded, printed } = loadedModules([main, "ls", "--store", store], project);
    expect(printed).toContain("no runs");
    const names = namesOf(loaded);
    expect(names).toEqual(expect.arrayContaining(["cli/main", "ls", "store"]));
    // A file that needs a package has its name: "cli-zod".
    expect(
      names.filter((name) => /zod|yaml|prompts|undici|genai-prices|^engine|^run$|thread-code/.test(name)),
    ).toEqual([]);
    expect(names.length).toBeLessThan(20);
  });

  it("is imported without the engine, the store, the command line, and packages that only some tools need", () => {
    const names = importing('import "pawl";');
    expect(new Set(names)).toEqual(
      new Set(["croner", "index", "pawl", "pawl-croner", "pawl-croner-zod", "pawl-zod", "start", "zod"]),
    );
  });

  it("loads the engine and the store with the first run", () => {
    const names = importing(`
      import { openStore, Runner, Step } from "pawl";
      const store = await openStore(":memory:");
      await new Runner(Step.run("add", (n) => n + 1), { store }).run(1);
      await store.close();
    `);
    expect(names).toEqual(expect.arrayContaining(["run-requests", "engine", "engine-zod", "store"]));
    expect(names.filter((name) => /cli|yaml|prompts|undici|testing|ai-sdk-request|^ai$/.test(name))).toEqual(
      [],
    );
  });
});
