import { type Dirent, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { describe, expect, test } from "vitest";
import { rooms } from "./architecture/rooms.ts";
import {
  checkArchitecture,
  layerOf,
  layers,
  longFiles,
  maxFiles,
  type RuleName,
  readSources,
  ruleNames,
} from "./architecture/rules.ts";

const root = resolve(import.meta.dirname, "..");

describe("the sources", () => {
  const texts = readTexts("src");
  const sources = [...readSources(texts).values()];

  test("are found", () => {
    expect(sources.length).toBeGreaterThanOrEqual(20);
    expect(sources.flatMap((file) => file.imports).length).toBeGreaterThanOrEqual(20);
    const foldersWithFiles = new Set(
      sources.map((file) => file.path.split("/")[1]).filter((part) => !part?.includes(".")),
    );
    const layersSeen = new Set(
      sources.map((file) => layerOf(file.path)).filter((layer) => layer !== undefined),
    );
    expect(layersSeen).toEqual(foldersWithFiles);
    for (const layer of ["core", "store", "engine"]) expect(layersSeen).toContain(layer);
  });

  test("keep every architecture rule", () => {
    const violations = checkArchitecture(texts).map(
      ({ rule, path, line, what }) => `${path}:${line} ${what} (${rule})`,
    );
    expect(violations).toEqual([]);
  });

  test("do not hide a violation that is planted among them", () => {
    const planted = new Map(texts).set("src/core/planted.ts", 'import { readFileSync } from "node:fs";\n');
    expect(checkArchitecture(planted).map(({ path }) => path)).toContain("src/core/planted.ts");
  });
});

describe("the tests", () => {
  test("are in folders that do not hold too many files", () => {
    const folders = Map.groupBy(filesBelow("test"), ({ parentPath }) => relative(root, parentPath));
    expect(folders.size).toBeGreaterThanOrEqual(20);
    const tooFull = [...folders].filter(([, files]) => files.length > maxFiles);
    expect(tooFull.map(([folder, files]) => `${folder} has ${files.length} files`)).toEqual([]);
  });

  test("are no longer than the sources may be", () => {
    const tests = new Map([...readTexts("test")].filter(([path]) => path.endsWith(".ts")));
    expect(tests.size).toBeGreaterThanOrEqual(300);
    expect(longFiles(tests)).toEqual([]);
    const planted = new Map(tests).set("test/planted.test.ts", "// line\n".repeat(401));
    expect(longFiles(planted)).toEqual(["test/planted.test.ts has 401 lines, more than 400"]);
  });
});

/** Files that break a rule: the rule, then path and text of each file. The first file must be reported. */
type Plant = readonly [RuleName, Record<string, string>];

const empty = "export {};\n";

const plants: readonly Plant[] = [
  ["every file is in a layer", { "src/stray.ts": empty }],
  ["every file is in a layer", { "src/somewhere/else.ts": empty }],

  ["every import can be followed", { "src/core/a.ts": 'import "./missing.ts";' }],
  ["every import can be followed", { "src/core/a.ts": 'import "../../test/fixture.ts";' }],
  ["every import can be followed", { "src/engine/a.ts": 'import { agent } from "pawl";' }],
  ["every import can be followed", { "src/engine/a.ts": 'import { scriptedModel } from "pawl/testing";' }],
  [
    "every import can be followed",
    { "src/engine/a.ts": "export const load = (name: string) => import(name);" },
  ],
  [
    "every import can be followed",
    { "src/engine/a.ts": "export const load = (n: string) => import(`./${n}.ts`);" },
  ],
  [
    "every import can be followed",
    { "src/engine/a.ts": 'export const load = () => import("../" + "cli/a.ts");' },
  ],

  [
    "layers import upwards only",
    { "src/core/a.ts": 'import { b } from "../store/b.ts";', "src/store/b.ts": empty },
  ],
  [
    "layers import upwards only",
    { "src/core/a.ts": 'import type { B } from "../store/b.ts";', "src/store/b.ts": empty },
  ],
  [
    "layers import upwards only",
    { "src/store/a.ts": 'export * from "../session/b.ts";', "src/session/b.ts": empty },
  ],
  [
    "layers import upwards only",
    { "src/session/a.ts": 'export { b } from "../engine/b.ts";', "src/engine/b.ts": empty },
  ],
  [
    "layers import upwards only",
    { "src/engine/a.ts": 'await import("../adapters/b.ts");', "src/adapters/b.ts": empty },
  ],
  [
    "layers import upwards only",
    { "src/adapters/a.ts": 'import b = require("../server/b.ts");', "src/server/b.ts": empty },
  ],
  [
    "layers import upwards only",
    { "src/server/a.ts": 'type B = import("../cli/b.ts").B;', "src/cli/b.ts": empty },
  ],
  ["layers import upwards only", { "src/testing/a.ts": 'import "../cli/b.ts";', "src/cli/b.ts": empty }],
  ["layers import upwards only", { "src/index.ts": 'export * from "./cli/b.ts";', "src/cli/b.ts": empty }],
  [
    "layers import upwards only",
    { "src/index.ts": 'export * from "./testing/b.ts";', "src/testing/b.ts": empty },
  ],
  [
    "layers import upwards only",
    { "src/engine/a.ts": 'import { run } from "../index.ts";', "src/index.ts": empty },
  ],

  ...["fs", "fs/promises", "net", "http", "child_process", "timers", "timers/promises"].map(
    (name): Plant => ["core imports only what is pure", { "src/core/a.ts": `import x from "node:${name}";` }],
  ),
  ["core imports only what is pure", { "src/core/a.ts": 'import x from "node:sqlite";' }],
  ["core imports only what is pure", { "src/core/a.ts": 'import { readFile } from "fs";' }],
  ["core imports only what is pure", { "src/core/a.ts": 'import { v7 } from "uuid";' }],

  ...[
    "Date.now()",
    "Date?.now()",
    'Date["now"]()',
    "new Date()",
    "new Date",
    "Date()",
    "Math.random()",
    "process.env.HOME",
    "process.hrtime()",
    "setTimeout(() => {}, 1)",
    "globalThis.setTimeout(() => {}, 1)",
    "performance.now()",
    "crypto.randomUUID()",
    'fetch("https://example.com")',
    "`at ${Date.now()}`",
  ].map(
    (code): Plant => [
      "core reads no clock, no randomness, no environment",
      { "src/core/a.ts": `export const value = ${code};` },
    ],
  ),
  ["core reads no clock, no randomness, no environment", { "src/core/a.ts": "const { now } = Date;" }],
  ["core reads no clock, no randomness, no environment", { "src/core/a.ts": "const { env } = process;" }],
  [
    "core reads no clock, no randomness, no environment",
    { "src/core/a.ts": 'import { randomBytes } from "node:crypto";' },
  ],

  [
    "only composition roots read the environment",
    { "src/engine/a.ts": "export const home = process.env.HOME;" },
  ],
  [
    "only composition roots read the environment",
    { "src/store/a.ts": 'export const home = process["env"].HOME;' },
  ],
  ["only composition roots read the environment", { "src/server/a.ts": "const { env } = process;" }],
  [
    "only composition roots read the environment",
    { "src/adapters/a.ts": 'import { env } from "node:process";' },
  ],

  [
    "only src/store/sqlite imports node:sqlite",
    { "src/store/a.ts": 'import { DatabaseSync } from "node:sqlite";' },
  ],
  [
    "only src/store/sqlite imports node:sqlite",
    { "src/engine/a.ts": 'import type { X } from "node:sqlite";' },
  ],

  ["only src/store/postgres-wire names the package pg", { "src/store/sql/a.ts": 'import pg from "pg";' }],
  [
    "only src/store/postgres-wire names the package pg",
    { "src/engine/a.ts": 'import type { X } from "pg";' },
  ],
  [
    "only src/store/postgres-wire names the package pg",
    { "src/cli/a.ts": 'const name = "pg"; await import(name);' },
  ],

  ["only src/adapters imports the AI SDK", { "src/engine/a.ts": 'import { generateText } from "ai";' }],
  ["only src/adapters imports the AI SDK", { "src/engine/a.ts": 'import type { Tool } from "ai";' }],
  ["only src/adapters imports the AI SDK", { "src/core/a.ts": 'import type { X } from "@ai-sdk/provider";' }],
  [
    "only src/adapters imports the AI SDK",
    { "src/testing/a.ts": 'import { MockLanguageModelV4 } from "ai/test";' },
  ],
  ["only src/adapters imports the AI SDK", { "src/index.ts": 'export { tool } from "ai";' }],

  [
    "no file imports itself, directly or through others",
    {
      "src/core/a.ts": 'import "./b.ts";',
      "src/core/b.ts": 'import "./c.ts";',
      "src/core/c.ts": 'import "./a.ts";',
    },
  ],
  ["no file imports itself, directly or through others", { "src/core/a.ts": 'import "./a.ts";' }],
  [
    "no file imports itself, directly or through others",
    { "src/core/a.ts": 'import type { B } from "./b.ts";', "src/core/b.ts": 'export { a } from "./a.ts";' },
  ],

  ["every file is in a room", { "src/engine/stray.ts": empty }],
  ["every file is in a room", { "src/engine/attic/stray.ts": empty }],

  [
    "rooms import only from the rooms before them",
    {
      "src/engine/call/a.ts": 'import type { B } from "../turn/b.ts";',
      "src/engine/turn/b.ts": empty,
    },
  ],
  [
    "rooms import only from the rooms before them",
    { "src/adapters/mcp/a.ts": 'import "../tools/b.ts";', "src/adapters/tools/b.ts": empty },
  ],
  [
    "rooms import only from the rooms before them",
    { "src/core/errors.ts": 'import "./job/run-spec.ts";', "src/core/job/run-spec.ts": empty },
  ],

  [
    "no folder holds too many files",
    Object.fromEntries(Array.from({ length: 31 }, (_, index) => [`src/session/a${index}.ts`, empty])),
  ],

  ["no file is too long", { "src/core/a.ts": "// line\n".repeat(401) }],

  ...[
    ["type Row = string;", "export type Row = number;"],
    ["export type Row<T> = T[];", "interface Row {}"],
    ["export interface Row extends Base {}", "export abstract class Row {}"],
    ["class Row<T> {}", "declare class Row implements Base {}"],
    ["export enum Row { A }", "const enum Row { B }"],
    ["const text = `${{ a: 1 }.a}`;\ntype Row = string;", "export class Row extends Base {}"],
  ].map(
    ([first = "", second = ""]): Plant => [
      "a type name is declared once",
      { "src/core/a.ts": first, "src/store/b.ts": second },
    ],
  ),

  ...["PawlError", "BusyError"].map(
    (name): Plant => [
      "errors of Pawl are recognised by isInstance",
      {
        "src/engine/run/a.ts": `export const isBusy = (error: unknown) => error instanceof ${name};`,
        "src/core/errors.ts": "export class BusyError extends PawlError<{ id: string }> {}",
      },
    ],
  ),

  ["names are kebab-case", { "src/core/turnDecision.ts": empty }],
  ["names are kebab-case", { "src/core/turn_decision.ts": empty }],
  ["names are kebab-case", { "src/store/SQLite/database.ts": empty }],

  ...["utils", "helpers", "common", "types"].map(
    (name): Plant => ["names say what is inside", { [`src/core/${name}.ts`]: empty }],
  ),
  ["names say what is inside", { "src/engine/utils/retry.ts": empty }],
];

describe("the checker", () => {
  test.each(
    plants.map(([rule, files]) => ({ rule, files, shown: Object.values(files)[0]?.slice(0, 60).trim() })),
  )("catches a breach of “$rule”: $shown", ({ rule, files }) => {
    const [path] = Object.keys(files);
    const found = checkArchitecture(new Map(Object.entries(files)));
    expect(found).toContainEqual(expect.objectContaining({ rule, path }));
  });

  test("has a planted breach for each of its rules", () => {
    expect(new Set(plants.map(([rule]) => rule))).toEqual(new Set(ruleNames));
  });

  test("accepts code that keeps the rules", () => {
    expect(checkArchitecture(new Map(Object.entries(cleanSources())))).toEqual([]);
  });

  test("refuses a file that it cannot read, and names it", () => {
    expect(() => checkArchitecture(new Map([["src/core/a.ts", 'const broken = "no end\n']]))).toThrow(
      /src\/core\/a\.ts cannot be read from line 1/,
    );
  });

  test("allows each layer every layer above it", () => {
    const firstRoom = (layer: string) => {
      const [first = "."] = [rooms[`src/${layer}`]?.[0] ?? "."].flat();
      return first === "." ? layer : `${layer}/${first}`;
    };
    const files = layers.map((layer, index): [string, string] => {
      const up = firstRoom(layer).includes("/") ? "../.." : "..";
      const imports = layers.slice(0, index).map((above) => `import "${up}/${firstRoom(above)}/a.ts";\n`);
      return [`src/${firstRoom(layer)}/a.ts`, imports.join("")];
    });
    expect(checkArchitecture(new Map(files))).toEqual([]);
  });

  test.each(Object.keys(rooms))(
    "allows each room of %s every room before it, and none after it",
    (folder) => {
      const inOrder = (rooms[folder] ?? []).map((rank) => [rank].flat()[0] ?? "");
      const pathOf = (room: string) =>
        room === "."
          ? `${folder}/own.ts`
          : room.endsWith(".ts")
            ? `${folder}/${room}`
            : `${folder}/${room}/a.ts`;
      const sourcesWith = (importing: (index: number) => readonly string[]) =>
        new Map(
          inOrder.map((room, index) => {
            const from = dirname(pathOf(room));
            const imports = importing(index).map((other) => `import "./${relative(from, pathOf(other))}";\n`);
            return [pathOf(room), imports.join("")];
          }),
        );
      const rule = "rooms import only from the rooms before them";
      const found = (sources: ReadonlyMap<string, string>) =>
        checkArchitecture(sources).filter((violation) => violation.rule === rule);
      expect(found(sourcesWith((index) => inOrder.slice(0, index)))).toEqual([]);
      const backwards = found(sourcesWith((index) => inOrder.slice(index + 1)));
      expect(new Set(backwards.map(({ path }) => path))).toEqual(new Set(inOrder.slice(0, -1).map(pathOf)));
      for (const { what } of backwards) expect(what).toContain(`in ${folder} the order is `);
    },
  );
});

/** Allowed code that looks, at first glance, like a breach. */
function cleanSources(): Record<string, string> {
  return {
    "src/core/turn/turn-key.ts": `
      import { createHash } from "node:crypto";
      // import { readFileSync } from "node:fs"; Date.now()
      /* process.env.HOME, Math.random() */
      export const text = "import x from 'node:fs'; Date.now()";
      export const template = \`new Date() \${createHash("sha256")} process.env\`;
      export const pattern = /Date.now() "/;
      export const half = (a: number, b: number) => a / b / 2;
      export const at = (ms: number) => new Date(ms).toISOString();
      export type Clock = { now(): number; setTimeout: (ms: number) => void };
      export const wait = (clock: Clock) => clock.setTimeout(clock.now());
      export function inside(type: string) {
        type Local = { readonly type: string; readonly class: string };
        return { type, class: "type Clock = string" } satisfies Local;
      }
    `,
    "src/core/turn/turn-clock.ts": `
      import { type Clock, inside } from "./turn-key.ts";
      import type Key from "./turn-key.ts";
      // type Clock = number; class Clock {}
      export type { Clock, Key };
      export const types = () => {
        type Local = typeof inside;
        const type = inside as Local;
        return type;
      };
    `,
    "src/store/sqlite/database.ts": 'import { DatabaseSync } from "node:sqlite";\nexport { DatabaseSync };\n',
    "src/adapters/ai-sdk/ai-sdk.ts":
      'import { generateText } from "ai";\nimport type { X } from "@ai-sdk/provider";\n',
    "src/testing/scripted-model.ts": 'import type { LanguageModelV4 } from "@ai-sdk/provider";\n',
    "src/cli/main.ts":
      "export const load = (path: string) => import(path);\nexport const home = process.env.HOME;\n",
    "src/index.ts":
      'import type { Tool } from "ai";\nexport * from "./core/turn/turn-key.ts";\nexport const e = process.env.X;\n',
    "src/store/sqlite/migrations/0001-first.sql": "CREATE TABLE runs (run_id TEXT PRIMARY KEY);\n",
  };
}

function filesBelow(folder: string): readonly Dirent[] {
  const entries = readdirSync(join(root, folder), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile());
}

function readTexts(folder: string): ReadonlyMap<string, string> {
  const paths = filesBelow(folder).map((entry) => join(entry.parentPath, entry.name));
  return new Map(
    paths.map((path) => [relative(root, path).split(sep).join("/"), readFileSync(path, "utf8")]),
  );
}
