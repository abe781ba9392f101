import { expect, test } from 'vitest';
import { fileBeside, parseSoakOptions, UsageError } from '../../soak/options.ts';

const draw = (): string => 's-drawn';
const parse = (args: ReadonlyArray<string>, environment: Readonly<Record<string, string>> = {}): unknown =>
  parseSoakOptions(args, environment, draw);

test('a soak takes ten minutes on the embedded control plane, with a seed that is drawn', () => {
  const expected = { minutes: 10, seed: 's-drawn', controlPlane: 'embedded', assets: null, without: new Set() };
  expect(parse([])).toEqual({ ...expected, hosts: 'one', pauseS: 7, report: '.soak/s-drawn-embedded.json' });
});

test('every option is understood, with a space or an equals sign', () => {
  const args = [
    '--minutes',
    '60',
    '--seed=a/b=c',
    '--control-plane',
    'real',
    '--pause=10.8',
    '--hosts=as-on-azure',
    '--report=out.json',
    '--without=kill-relay,freeze',
  ];
  expect(parse(args, { KUBEBUILDER_ASSETS: 'bin' })).toEqual({
    minutes: 60,
    seed: 'a/b=c',
    controlPlane: 'real',
    assets: 'bin',
    hosts: 'as-on-azure',
    pauseS: 10.8,
    without: new Set(['kill-relay', 'freeze']),
    report: 'out.json',
  });
});

test('the name of the report has no folder of the seed’s', () => {
  expect(parse(['--seed', '../x y'])).toMatchObject({ report: '.soak/.._x_y-embedded.json' });
});

test('what belongs to a report stands beside it, whatever its name', () => {
  expect(fileBeside({ report: '/a/s-1.json' }, 'log')).toBe('/a/s-1.log');
  expect(fileBeside({ report: '/a.b/s-1' }, 'lives.json')).toBe('/a.b/s-1.lives.json');
});

test('help is asked for', () => {
  expect(parse(['--minutes', '--help'])).toBeNull();
});

test.each([
  [['--minutes', 'ten'], '--minutes must be a number from 2 to 1440, not ten'],
  [['--minutes', '1'], '--minutes must be a number from 2 to 1440, not 1'],
  [['--pause', '2'], '--pause must be a number from 3 to 3600, not 2'],
  [['--minutes'], '--minutes needs a value'],
  [['--seed='], '--seed needs a value'],
  [['--seed', '--minutes'], '--seed needs a value'],
  [['--seed', 'a', '--seed', 'b'], '--seed is given more than once'],
  [['--without', 'kill,evil'], '--without knows no evil: there are scale'],
  [['--control-plane', 'kind'], '--control-plane is embedded or real, not kind'],
  [['--hosts', 'two'], '--hosts is one or as-on-azure, not two'],
  [['--control-plane', 'real'], '--control-plane real needs KUBEBUILDER_ASSETS'],
  [['--seeds', 'a'], 'There is no option --seeds'],
  [['60'], 'There is no option 60'],
])('%j is refused, and the option is named', (args, message) => {
  expect(() => parse(args)).toThrow(UsageError);
  expect(() => parse(args)).toThrow(message);
});
