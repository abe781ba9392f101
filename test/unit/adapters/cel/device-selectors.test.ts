import { describe, expect, test } from 'vitest';
import { createDeviceSelectors } from '../../../../shared/adapters/cel/device-selectors.ts';
import { withoutIndexedHas } from '../../../../shared/adapters/cel/presence.ts';
import { toQuantity } from '../../../../shared/adapters/cel/quantity.ts';
import { compareVersions, toSemver } from '../../../../shared/adapters/cel/semver.ts';
import type { Verdict } from '../../../../shared/core/model/device-selector.ts';

const device = {
  driver: 'gpu.example.com',
  device: {
    name: 'gpu-0',
    attributes: {
      index: { int: 1 },
      model: { string: 'A100' },
      healthy: { bool: true },
      driverVersion: { version: '1.20.3' },
      links: { strings: ['a', 'b'] },
      'other.com/x': { int: 3 },
    },
    capacity: { memory: { value: '40Gi' }, 'other.com/slots': { value: '7' } },
  },
};

const own = 'device.attributes["gpu.example.com"]';
const memory = 'device.capacity["gpu.example.com"].memory';

function verdictOf(expression: string): Verdict {
  const predicate = createDeviceSelectors()(expression);
  return typeof predicate === 'function' ? predicate(device) : predicate;
}

describe('selectors of devices', () => {
  test.each([
    ['device.driver == "gpu.example.com"', true],
    [`${own}.index == 1`, true],
    [`${own}.index == 2`, false],
    [`${own}.healthy`, true],
    [`${own}.model.lowerAscii() == "a100"`, true],
    [`${own}.model in ["H100", "A100"]`, true],
    [`${own}.model.matches("^A[0-9]+$")`, true],
    [`${own}.driverVersion.isGreaterThan(semver("1.9.0"))`, true],
    [`${own}.driverVersion.compareTo(semver("1.20.3")) == 0`, true],
    [`${own}.driverVersion.major() == 1 && ${own}.driverVersion.minor() == 20`, true],
    [`${own}.links.exists(link, link == "b")`, true],
    [`${memory}.compareTo(quantity("40Gi")) >= 0`, true],
    [`${memory}.isLessThan(quantity("40Gi"))`, false],
    [`${memory} == quantity("40960Mi")`, true],
    [`${memory}.asInteger() == 42949672960`, true],
    ['device.attributes["other.com"].x == 3', true],
    ['device.capacity["other.com"].slots.isGreaterThan(quantity("6"))', true],
    ['"gpu.example.com" in device.attributes', true],
    ['"none.com" in device.attributes', false],
    [`has(${own}.index)`, true],
    ['has(device.attributes["none.com"].x)', false],
    [`has(device.attributes["none.com"].x) && device.attributes["none.com"].x == 1`, false],
    [`${own}.?nope.orValue(5) == 5`, true],
    [`cel.bind(gpu, ${own}, gpu.healthy && gpu.index == 1)`, true],
    ['device.allowMultipleAllocations', false],
    // Quantities.
    ['isQuantity("1.5Gi") && !isQuantity("much")', true],
    ['quantity("1") == quantity("1000m") && !(quantity("1") == quantity("1001m"))', true],
    ['quantity("2").isGreaterThan(quantity("1")) && !quantity("1").isGreaterThan(quantity("1"))', true],
    ['quantity("1").isLessThan(quantity("2")) && !quantity("1").isLessThan(quantity("1"))', true],
    ['quantity("1").compareTo(quantity("2")) == -1 && quantity("2").compareTo(quantity("1")) == 1', true],
    ['quantity("1").compareTo(quantity("1")) == 0', true],
    [
      'quantity("1.5").add(quantity("1.5")) == quantity("3") && quantity("1").sub(quantity("3")) == quantity("-2")',
      true,
    ],
    ['quantity("3").isInteger() && !quantity("3.5").isInteger()', true],
    ['quantity("3k").asInteger() == 3000', true],
    ['quantity("1500m").asApproximateFloat() == 1.5', true],
    ['quantity("5").sign() == 1 && quantity("-5").sign() == -1 && quantity("0").sign() == 0', true],
    // Versions.
    ['isSemver("1.2.3") && !isSemver("v1.2")', true],
    ['isSemver("v1.2", true) && !isSemver("v1.2", false) && !isSemver("x", true)', true],
    ['semver("v1.2", true) == semver("1.2.0") && !(semver("1.2.1") == semver("1.2.0"))', true],
    ['semver("1.10.0").isGreaterThan(semver("1.9.0")) && !semver("1.9.0").isGreaterThan(semver("1.9.0"))', true],
    ['semver("1.9.0").isLessThan(semver("1.10.0")) && !semver("1.9.0").isLessThan(semver("1.9.0"))', true],
    ['semver("1.2.3").compareTo(semver("1.2.4")) == -1 && semver("1.2.4").compareTo(semver("1.2.3")) == 1', true],
    ['semver("1.2.3").major() == 1 && semver("1.2.3").minor() == 2 && semver("1.2.3").patch() == 3', true],
    // Text and lists.
    ['"abc123def".find("[0-9]+") == "123" && "abc".find("[0-9]+") == ""', true],
    ['"a1b22".findAll("[0-9]+") == ["1", "22"] && "ab".findAll("[0-9]+") == []', true],
    ['"a.b.c".replace(".", "$&") == "a$&b$&c"', true],
    ['"abc".charAt(1) == "b"', true],
    [`${own}.links.includes("b") && !${own}.links.includes("c")`, true],
  ])('%s', (expression, verdict) => {
    expect(verdictOf(expression)).toBe(verdict);
  });

  test.each([
    ['what a device does not have', `${own}.nope == 1`, 'No such key: nope'],
    ['what is not CEL', 'device.driver ==', 'Unexpected token: EOF'],
    ['an unknown variable', 'gpu.index == 1', 'Unknown variable: gpu'],
    ['what gives no bool', '"yes"', 'it gives string, not bool'],
    ['what gives no bool once it is evaluated', `${own}.index`, 'it gives bigint, not bool'],
    ['what does not give bool by its type', '1 + 1', 'it gives int, not bool'],
    ['a quantity that is no integer', 'quantity("1.5").asInteger() == 1', 'the quantity is no integer'],
    ['a text that is no version', 'semver("v1.2").major() == 1', 'v1.2 is not a semantic version'],
    ['a text that is no version in any form', 'semver("x", true).major() == 1', 'x is not a semantic version'],
    ['a text that is no quantity', `${memory}.isLessThan(quantity("much"))`, 'much is not a quantity'],
  ])('say what is wrong with %s', (_, expression, error) => {
    expect(verdictOf(expression)).toEqual({ error });
  });
});

describe('a device', () => {
  const holds = (expression: string, attributes: object, more: object = {}): Verdict => {
    const predicate = createDeviceSelectors()(expression);
    const one = { driver: 'd', device: { name: 'x', attributes, ...more } } as never;
    return typeof predicate === 'function' ? predicate(one) : predicate;
  };

  test.each([
    ['device.attributes["d"].a == [1, 2]', { a: { ints: [1, 2] } }],
    ['device.attributes["d"].a == [true, false]', { a: { bools: [true, false] } }],
    ['device.attributes["d"].a[1] == semver("1.2.3")', { a: { versions: ['1.0.0', '1.2.3'] } }],
    ['device.attributes["d"].a == 0', { a: { int: 0 } }],
    ['!device.attributes["d"].a', { a: { bool: false } }],
    ['device.attributes["d"].a == ""', { a: { string: '' } }],
    ['device.attributes["d"].a == 1 && device.attributes["d"].b == 2', { a: { int: 1 }, 'd/b': { int: 2 } }],
    ['device.attributes["e"].b == 2 && !("e/b" in device.attributes["d"])', { 'e/b': { int: 2 } }],
  ])('has the attributes that it published: %s', (expression, attributes) => {
    expect(holds(expression, attributes)).toBe(true);
  });

  test('may be allocated to many where it says so', () => {
    expect(holds('device.allowMultipleAllocations', {}, { allowMultipleAllocations: true })).toBe(true);
  });

  test('of which a version cannot be read is an error of the selector, not of the plan', () => {
    expect(holds('device.driver == "d"', { a: { version: 'v1' } })).toEqual({ error: 'v1 is not a semantic version' });
    expect(holds('device.driver == "d"', {}, { capacity: { memory: { value: 'much' } } })).toEqual({
      error: 'much is not a quantity',
    });
  });

  test('without attributes and capacity has none', () => {
    const predicate = createDeviceSelectors()('!("d" in device.attributes) && !("d" in device.capacity)');
    const bare = { driver: 'd', device: { name: 'x' } } as never;
    expect(typeof predicate === 'function' ? predicate(bare) : predicate).toBe(true);
  });
});

describe('a quantity is read exactly', () => {
  test.each([
    ['1', 1_000_000_000n],
    ['+1', 1_000_000_000n],
    ['-1.5', -1_500_000_000n],
    ['.5', 500_000_000n],
    ['5.', 5_000_000_000n],
    [' 1 ', 1_000_000_000n],
    ['1n', 1n],
    ['1u', 1_000n],
    ['1m', 1_000_000n],
    ['1k', 1_000_000_000_000n],
    ['1M', 10n ** 15n],
    ['1G', 10n ** 18n],
    ['1T', 10n ** 21n],
    ['1P', 10n ** 24n],
    ['1E', 10n ** 27n],
    ['1e3', 10n ** 12n],
    ['1E-3', 10n ** 6n],
    ['1e+2', 10n ** 11n],
    ['1Ki', 1_024n * 10n ** 9n],
    ['1.5Mi', 1_572_864n * 10n ** 9n],
    ['1Gi', 2n ** 30n * 10n ** 9n],
    ['1Ti', 2n ** 40n * 10n ** 9n],
    ['1Pi', 2n ** 50n * 10n ** 9n],
    ['1Ei', 2n ** 60n * 10n ** 9n],
    ['0.1n', 0n],
    ['12345678901234567890', 12_345_678_901_234_567_890n * 10n ** 9n],
  ])('%s', (text, nanos) => {
    expect(toQuantity(text).nanos).toBe(nanos);
  });

  test.each(['', '.', 'Gi', '1gi', '1 Gi', '1e', '1e1234', '--1', '1.2.3', '0x1', '1ki', '1Mi5', 'x1'])(
    '%j is none',
    (text) => {
      expect(() => toQuantity(text)).toThrow(new RangeError(`${text} is not a quantity`));
    },
  );
});

test.each(['1.2', '1.2.3.4', '01.2.3', '1.02.3', '1.2.03', 'v1.2.3', '1.2.3-', '1.2.3+', '1.2.x', ' 1.2.3', '1.2.3 '])(
  '%j is no version',
  (text) => {
    expect(() => toSemver(text)).toThrow(new RangeError(`${text} is not a semantic version`));
  },
);

test.each([
  ['v1', '1.0.0'],
  ['1.2', '1.2.0'],
  ['v01.002.0003', '1.2.3'],
  ['v0', '0.0.0'],
  ['1.2-rc.1', '1.2.0-rc.1'],
  ['1.2.3+abc', '1.2.3'],
])('%s is read as %s where one is lenient', (text, same) => {
  expect(compareVersions(toSemver(text, true), toSemver(same))).toBe(0);
});

test.each(['x', '1.2.3.4', 'v', '1..2'])('%j is no version, however lenient one is', (text) => {
  expect(() => toSemver(text, true)).toThrow(RangeError);
});

test('has() is rewritten where it looks at an index, and text within quotes is left alone', () => {
  expect(withoutIndexedHas('has(a["x"].b) && has(a.b)')).toBe('("b" in (a["x"])) && has(a.b)');
  expect(withoutIndexedHas('a == "has(b[0].c)"')).toBe('a == "has(b[0].c)"');
  expect(withoutIndexedHas('ahas(b["x"].c)')).toBe('ahas(b["x"].c)');
  expect(withoutIndexedHas('has(a["(\\""].b)')).toBe('("b" in (a["(\\""]))');
  expect(withoutIndexedHas('has(a["x"].b')).toBe('has(a["x"].b');
  expect(withoutIndexedHas("a == 'has(b[0].c)'")).toBe("a == 'has(b[0].c)'");
  expect(withoutIndexedHas('a == """has(b[0].c) " """')).toBe('a == """has(b[0].c) " """');
  expect(withoutIndexedHas("a == '''has(b[0].c) ' '''")).toBe("a == '''has(b[0].c) ' '''");
  expect(withoutIndexedHas('b.has(a["x"].c)')).toBe('b.has(a["x"].c)');
  expect(withoutIndexedHas('has (a["x"] . b )')).toBe('("b" in (a["x"]))');
  expect(withoutIndexedHas('has(f(has(a["y"].z))["x"].b)')).toBe('("b" in (f(("z" in (a["y"])))["x"]))');
  expect(withoutIndexedHas('has(a["x"])')).toBe('has(a["x"])');
});

test('versions are in the order of semver 2.0.0', () => {
  const order = [
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-beta.2',
    '1.0.0-beta.11',
    '1.0.0-rc.1',
    '1.0.0',
    '1.2.0',
    '1.10.0',
  ];
  for (const [index, lower] of order.entries()) {
    for (const higher of order.slice(index + 1)) {
      expect(compareVersions(toSemver(lower), toSemver(higher))).toBeLessThan(0);
      expect(compareVersions(toSemver(higher), toSemver(lower))).toBeGreaterThan(0);
    }
  }
  expect(compareVersions(toSemver('1.0.0+a'), toSemver('1.0.0+b'))).toBe(0);
  expect(compareVersions(toSemver('v01.2', true), toSemver('1.2.0'))).toBe(0);
});

describe('versions', () => {
  const chain = [
    '1.0.0-2',
    '1.0.0-11',
    '1.0.0-1a',
    '1.0.0-a1',
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-alpha.beta',
    '1.0.0-beta',
  ];
  const ordered = [
    ...chain,
    '1.0.0-beta.2',
    '1.0.0-beta.11',
    '1.0.0-rc.1',
    '1.0.0',
    '1.0.1',
    '1.2.0',
    '1.10.0',
    '2.0.0',
  ];

  test('are ordered as semver 2.0.0 says: numbers by their size and before words, words by their letters', () => {
    for (const [index, one] of ordered.entries()) {
      for (const [other, text] of ordered.entries()) {
        expect(Math.sign(compareVersions(toSemver(one), toSemver(text))), `${one} and ${text}`).toBe(
          Math.sign(index - other),
        );
      }
    }
  });

  test.each([
    ['v1.02', '1.2.0'],
    ['1', '1.0.0'],
    ['01.10.00', '1.10.0'],
    ['v1.2-rc.1', '1.2.0-rc.1'],
  ])('are read leniently where that is asked for: %s is %s', (text, exact) => {
    expect(compareVersions(toSemver(text, true), toSemver(exact))).toBe(0);
    expect(() => toSemver(text)).toThrow(RangeError);
  });

  test.each(['xv1.2.3', 'a1', '1.2.3.4', ''])('that are none are none, leniently too: %j', (text) => {
    expect(() => toSemver(text, true)).toThrow(RangeError);
  });
});

test.each([
  [`has("""a(b""", x["k"].f)`, `("f" in ("""a(b""", x["k"]))`],
  [`'''has(x["k"].f)''' == 'y' || has(x["k"].f)`, `'''has(x["k"].f)''' == 'y' || ("f" in (x["k"]))`],
  [
    `"""has(x["k"].f) "quoted" """ == "y" || has(x["k"].f)`,
    `"""has(x["k"].f) "quoted" """ == "y" || ("f" in (x["k"]))`,
  ],
  ['has(x["k"].f', 'has(x["k"].f'],
  ['has(x["k"].f g)', 'has(x["k"].f g)'],
])('what stands in quotes, or is not whole, is left as it is: %s', (expression, rewritten) => {
  expect(withoutIndexedHas(expression)).toBe(rewritten);
});

test.each([
  ['10', 10_000_000_000n],
  ['.25', 250_000_000n],
  ['1e10', 10_000_000_000_000_000_000n],
  ['1n', 1n],
  ['1.5n', 1n],
])('the quantity %s is read exactly, down to a billionth', (text, nanos) => {
  expect(toQuantity(text).nanos).toBe(nanos);
});
