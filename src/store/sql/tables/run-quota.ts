import { type Limit, Quota } from "../../../core/usage/quota.ts";
import type { Amount } from "../../../core/usage/usage.ts";
import type { Row } from "../row.ts";

export function quotaOf(row: Row): Quota {
  const limit: Limit = {
    tokens: row.optionalInt("limit_tokens"),
    microDollars: row.optionalInt("limit_micro_dollars"),
  };
  return new Quota(limit, chargedAmount(row), reservedAmount(row));
}

export function chargedAmount(row: Row): Amount {
  return { tokens: row.int("charged_tokens"), microDollars: row.int("charged_micro_dollars") };
}

export function reservedAmount(row: Row): Amount {
  return { tokens: row.int("reserved_tokens"), microDollars: row.int("reserved_micro_dollars") };
}
