import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../src/core/errors.ts";
import { openStore } from "../../src/store/open-store.ts";
import { postgresAddress, withoutPassword } from "../../src/store/postgres-address.ts";

const SECRET = "postgres://ann:hunter2@db:5432/app";

describe("the address of a PostgreSQL store", () => {
  it("names the schema of its tables, which pg does not see", () => {
    expect(postgresAddress(`${SECRET}?sslmode=require&schema=agents`)).toEqual({
      url: `${SECRET}?sslmode=require`,
      schema: "agents",
      name: "postgres://db:5432/app?schema=agents",
    });
  });

  it("means the schema pawl if it names none, and is handed on as it is", () => {
    expect(postgresAddress(SECRET)).toEqual({
      url: SECRET,
      schema: "pawl",
      name: "postgres://db:5432/app",
    });
  });

  it("and the option may say the same", () => {
    expect(postgresAddress(SECRET, "agents").schema).toBe("agents");
    expect(postgresAddress(`${SECRET}?schema=agents`, "agents").schema).toBe("agents");
  });

  it.each([
    ["?schema=one", "two"],
    ["?schema=one&schema=two", undefined],
  ])("is refused if it names two schemas: %s and %s", (parameters, option) => {
    expect(() => postgresAddress(SECRET + parameters, option)).toThrow(
      'The store names the schemas "one" and "two": name one, in the address (?schema=…) or as the option schema.',
    );
  });

  it.each(["", "Agents", "my-agents", "1st", "a b", 'a"b', "a;b", "pg_agents", "é", "a".repeat(64)])(
    "is refused in one sentence if the schema has a bad name: %j",
    async (schema) => {
      const error: unknown = await openStore(`${SECRET}?schema=${encodeURIComponent(schema)}`).catch(
        (thrown: unknown) => thrown,
      );
      expect(ConfigurationError.isInstance(error)).toBe(true);
      expect((error as Error).message).toBe(
        `${JSON.stringify(schema)} is not a name for a PostgreSQL schema of Pawl: use at most 63 lower-case letters, digits and underscores, with no digit and no pg_ in front.`,
      );
    },
  );

  it.each([
    [SECRET, "postgres://ann@db:5432/app"],
    ["postgresql://ann@db/app?password=hunter2&schema=a", "postgresql://ann@db/app?schema=a"],
    ["postgres://ann:hunter2@db:port/app", "postgres://db:port/app"],
    ["postgres://db/app?sslmode=require", "postgres://db/app?sslmode=require"],
    ["file:./a:b@c.db", "file:./a:b@c.db"],
  ])("can be shown without its password: %s", (url, shown) => {
    expect(withoutPassword(url)).toBe(shown);
  });
});
