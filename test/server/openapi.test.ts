import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import { openApiDocument } from "../../scripts/docs/openapi-document.ts";
import { OPERATIONS } from "../../src/server/api/operations.ts";
import { testServer } from "./test-server.ts";

type Operation = {
  readonly operationId: string;
  readonly security: readonly object[];
  readonly responses: { readonly [status: string]: unknown };
};
type Document = {
  readonly openapi: string;
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } };
  readonly components: { readonly schemas: { readonly [name: string]: object } };
};

const root = resolve(import.meta.dirname, "../..");
const stored = JSON.parse(readFileSync(join(root, "docs/openapi.json"), "utf8")) as Document;

describe("docs/openapi.json", () => {
  it("is what the route table says: `npm run openapi` brings it up to date", () => {
    expect(stored).toEqual(JSON.parse(JSON.stringify(openApiDocument())));
  });

  it("is valid by a validator of others", async () => {
    expect(await new Validator().validate(structuredClone(stored))).toEqual({ valid: true });
    const { responses: _, ...broken } = stored.paths["/v1/runs"]?.get ?? {};
    const without = { ...stored, paths: { "/v1/runs": { get: { ...broken, parameters: "none" } } } };
    expect(await new Validator().validate(structuredClone(without))).toMatchObject({ valid: false });
  });

  it("has every operation, with the problems that it may answer with and who may call it", () => {
    const written = Object.entries(stored.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, { operationId }]) => `${operationId} ${method.toUpperCase()} ${path}`,
      ),
    );
    const meant = Object.entries(OPERATIONS).map(([id, { method, path }]) => `${id} ${method} ${path}`);
    expect(written.sort()).toEqual(meant.sort());
    for (const operation of Object.values(stored.paths).flatMap((methods) => Object.values(methods)))
      expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(["400", "403", "421", "503"]));
    expect(stored.paths["/v1/runs"]?.get?.security).toEqual([{ token: [] }, { session: [] }]);
    expect(stored.paths["/healthz"]?.get?.security).toEqual([]);
  });

  it("leaves answers open for later fields, and requests closed against misspelt ones", () => {
    const { RunHead, NewRun } = stored.components.schemas;
    expect(RunHead).not.toHaveProperty("additionalProperties");
    expect(NewRun).toHaveProperty("additionalProperties", false);
    expect(Object.keys(stored.components.schemas).filter((name) => /Output$|__/.test(name))).toEqual([]);
  });

  it("is what the server answers, to anyone", async () => {
    const response = await testServer().request("/openapi.json");
    expect(await response.json()).toEqual(stored);
  });
});
