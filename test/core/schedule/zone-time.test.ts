import { describe, expect, it } from "vitest";
import {
  firstMomentOf,
  firstOffsetChange,
  isTimeZone,
  wallTimeAt,
  zoneOffset,
} from "../../../src/core/schedule/zone-time.ts";

const HOUR = 3_600_000;
const SPRING = Date.parse("2026-03-29T01:00Z");
const AUTUMN = Date.parse("2026-10-25T01:00Z");
const BERLIN = "Europe/Berlin";

describe("the offset of a time zone", () => {
  it("is what its clocks are ahead of UTC, at any moment", () => {
    expect(zoneOffset("UTC", SPRING)).toBe(0);
    expect(zoneOffset("Asia/Kathmandu", SPRING)).toBe(5.75 * HOUR);
    expect(zoneOffset("America/St_Johns", Date.parse("2026-01-01T00:00Z"))).toBe(-3.5 * HOUR);
    expect(zoneOffset(BERLIN, SPRING - 1)).toBe(HOUR);
    expect(zoneOffset(BERLIN, SPRING)).toBe(2 * HOUR);
  });

  it("had seconds in some zones", () => {
    expect(zoneOffset("Africa/Monrovia", 0)).toBe(-(44 * 60 + 30) * 1_000);
  });

  it("changes at one exact moment, which counts as the first with the new offset", () => {
    expect(firstOffsetChange(BERLIN, Date.parse("2026-01-01T00:00Z"), AUTUMN)).toBe(SPRING);
    expect(firstOffsetChange(BERLIN, SPRING, AUTUMN)).toBe(AUTUMN);
    expect(firstOffsetChange(BERLIN, SPRING, AUTUMN - 1)).toBeNull();
    expect(firstOffsetChange(BERLIN, SPRING, SPRING)).toBeNull();
    expect(firstOffsetChange("Asia/Tokyo", SPRING, AUTUMN)).toBeNull();
  });
});

describe("a time on the clock", () => {
  it("belongs to the moment that shows it", () => {
    const noon = Date.parse("2026-07-01T12:00Z");
    expect(firstMomentOf(BERLIN, noon)).toBe(noon - 2 * HOUR);
    expect(wallTimeAt(BERLIN, noon - 2 * HOUR)).toBe(noon);
  });

  it("that is repeated belongs to the first of two moments", () => {
    const wall = Date.parse("2026-10-25T02:30Z");
    expect(firstMomentOf(BERLIN, wall)).toBe(AUTUMN - HOUR / 2);
    expect(wallTimeAt(BERLIN, AUTUMN + HOUR / 2)).toBe(wall);
    expect(firstMomentOf(BERLIN, wall + HOUR / 2)).toBe(AUTUMN + HOUR);
  });

  it("that is skipped belongs to the first moment after the gap", () => {
    for (const wall of ["2026-03-29T02:00Z", "2026-03-29T02:59:59.999Z", "2026-03-29T03:00Z"])
      expect(firstMomentOf(BERLIN, Date.parse(wall))).toBe(SPRING);
    expect(firstMomentOf(BERLIN, Date.parse("2026-03-29T01:59Z"))).toBe(SPRING - 60_000);
  });
});

describe("the name of a time zone", () => {
  it("is one of the IANA database, in any case", () => {
    for (const name of ["UTC", BERLIN, "europe/berlin", "America/Argentina/Ushuaia"])
      expect(isTimeZone(name)).toBe(true);
    for (const name of ["", "Berlin", "+02:00", "-5", "UTC+2"]) expect(isTimeZone(name)).toBe(false);
  });
});
