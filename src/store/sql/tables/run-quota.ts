import { type Limit, Quota } from "../../../core/usage/quota.ts";
import type { Amount } from "../../../core/usage/usage.ts";
import type { Row } from "../row.ts";

export function quotaOf(row: Row): Quota {
  return new Quota(limitOf(row), chargedAmount(row), reservedAmount(row));
}

export function limitOf(row: Row): Limit {
  return { tokens: row.optionalInt("limit_tokens"), microDollars: row.optionalInt("limit_micro_dollars") };
}

export function chargedAmount(row: Row): Amount {
  return { tokens: row.int("charged_tokens"), microDollars: row.int("charged_micro_dollars") };
}

export function reservedAmount(row: Row): Amount {
  return { tokens: row.int("reserved_tokens"), microDollars: row.int("reserved_micro_dollars") };
}
