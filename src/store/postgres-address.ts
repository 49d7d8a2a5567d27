import { ConfigurationError } from "../core/errors.ts";

/** The address of a PostgreSQL store, in its parts. */
export type PostgresAddress = {
  /** What the package `pg` gets. */
  readonly url: string;
  /** The schema of the tables. */
  readonly schema: string;
  /** As errors and commands show it: without user, password and parameters, but for a schema of its own. */
  readonly name: string;
};

const DEFAULT_SCHEMA = "pawl";

/** True for the address of a PostgreSQL database. */
export function isPostgres(url: unknown): boolean {
  return typeof url === "string" && /^postgres(?:ql)?:\/\//.test(url);
}

/**
 * Takes an address apart. Its parameter `schema` is Pawl's own, and names the schema of the tables; all others are those of
 * the package `pg`. The option `schema` means the same.
 */
export function postgresAddress(url: string, option?: string): PostgresAddress {
  const parsed = parsedUrl(url);
  const [inUrl, ...more] = parsed.searchParams.getAll("schema");
  const given = [inUrl, ...more, option].filter((each) => each !== undefined);
  if (new Set(given).size > 1)
    throw new ConfigurationError(
      `The store names the schemas ${given.map((each) => JSON.stringify(each)).join(" and ")}: name one, in the address (?schema=…) or as the option schema.`,
    );
  const [schema = DEFAULT_SCHEMA] = given;
  assertSchemaName(schema);
  const { protocol, host, pathname } = parsed;
  const shown = schema === DEFAULT_SCHEMA ? "" : `?schema=${schema}`;
  const name = `${protocol}//${host}${pathname}${shown}`;
  if (inUrl === undefined) return { url, schema, name };
  parsed.searchParams.delete("schema");
  return { url: parsed.href, schema, name };
}

/** The address without its password, wherever that is in it. */
export function withoutPassword(url: string): string {
  if (!isPostgres(url)) return url;
  if (!URL.canParse(url)) return url.replace(/\/\/.*@/s, "//");
  const parsed = parsedUrl(url);
  if (parsed.password === "" && !parsed.searchParams.has("password")) return url;
  parsed.password = "";
  parsed.searchParams.delete("password");
  return parsed.href;
}

function parsedUrl(url: string): URL {
  try {
    return new URL(url);
  } catch {
    throw new ConfigurationError(
      "The address of the PostgreSQL store is not a URL: use postgres://user@host:5432/database.",
    );
  }
}

/** Names that need no quotes: a longer one would be cut off by the server, and then two stores would share a schema. */
function assertSchemaName(schema: string): void {
  if (/^[a-z_][a-z0-9_]{0,62}$/.test(schema) && !schema.startsWith("pg_")) return;
  throw new ConfigurationError(
    `${JSON.stringify(schema)} is not a name for a PostgreSQL schema of Pawl: use at most 63 lower-case letters, digits and underscores, with no digit and no pg_ in front.`,
  );
}
