import { describe, expect, test } from 'vitest';
import { createDeviceSelectors } from '../../../../shared/adapters/cel/device-selectors.ts';
import { withoutIndexedHas } from '../../../../shared/adapters/cel/presence.ts';
import { compareVersions, toSemver } from '../../../../shared/adapters/cel/semver.ts';
import type { Verdict } from '../../../../shared/core/dra/selectors.ts';

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
  ])('%s', (expression, verdict) => {
    expect(verdictOf(expression)).toBe(verdict);
  });

  test.each([
    ['what a device does not have', `${own}.nope == 1`, 'No such key: nope'],
    ['what is not CEL', 'device.driver ==', 'Unexpected token: EOF'],
    ['an unknown variable', 'gpu.index == 1', 'Unknown variable: gpu'],
    ['what gives no bool', '"yes"', 'it gives string, not bool'],
    ['what gives no bool once it is evaluated', `${own}.index`, 'it gives bigint, not bool'],
    ['a text that is no quantity', `${memory}.isLessThan(quantity("much"))`, 'much is not a quantity'],
  ])('say what is wrong with %s', (_, expression, error) => {
    expect(verdictOf(expression)).toEqual({ error });
  });
});

test('has() is rewritten where it looks at an index, and text within quotes is left alone', () => {
  expect(withoutIndexedHas('has(a["x"].b) && has(a.b)')).toBe('("b" in (a["x"])) && has(a.b)');
  expect(withoutIndexedHas('a == "has(b[0].c)"')).toBe('a == "has(b[0].c)"');
  expect(withoutIndexedHas('ahas(b["x"].c)')).toBe('ahas(b["x"].c)');
  expect(withoutIndexedHas('has(a["(\\""].b)')).toBe('("b" in (a["(\\""]))');
  expect(withoutIndexedHas('has(a["x"].b')).toBe('has(a["x"].b');
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
