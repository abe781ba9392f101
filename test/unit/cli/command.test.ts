import { describe, expect, test } from 'vitest';
import { parseCommand, planUsage } from '../../../cli/command.ts';

describe('the command line', () => {
  test('a plan needs a file and has defaults for all else', () => {
    expect(parseCommand(['plan', '-f', 'a.yaml'])).toEqual({
      kind: 'plan',
      paths: ['a.yaml'],
      catalog: null,
      region: null,
      budgetMs: null,
      strict: false,
      output: 'table',
    });
  });

  test('options may be short, long, joined and repeated where that makes sense', () => {
    const args = ['plan', '-f', 'a', '--filename=b', '-fc', '-f=d', '--filename', '-', '-ojson', '--budget-ms=50'];
    expect(parseCommand([...args, '--catalog', 'c.json', '--region', 'eastus'])).toEqual({
      kind: 'plan',
      paths: ['a', 'b', 'c', 'd', '-'],
      catalog: 'c.json',
      region: 'eastus',
      budgetMs: 50,
      strict: false,
      output: 'json',
    });
  });

  test.each([
    [['plan'], '-f: is missing (name a file, a folder, or - for standard input)'],
    [['plan', '-f'], '-f: has no value (write a value after it)'],
    [['plan', 'a.yaml'], 'a.yaml: is not an option (write -f a.yaml if it is a file)'],
    [['plan', '-f', 'a', '--fast'], '--fast: is not an option (see nodewright plan --help)'],
    [['plan', '-f', 'a', '-o', 'xml'], '-o: "xml" is not a format (use table, json, yaml)'],
    [['plan', '-f', 'a', '-o', 'json', '-o', 'yaml'], '--output: is given more than once (keep one)'],
    [['plan', '-f', 'a', '--budget-ms', '0'], '--budget-ms: "0" is no such time (use 1 to 3600000 milliseconds)'],
    [['plan', '-f', 'a', '--budget-ms', '1.5'], '--budget-ms: "1.5" is no such time (use 1 to 3600000 milliseconds)'],
    [
      ['destroy'],
      'destroy: is not a command (use deploy, upgrade, status, uninstall, plan, disrupt, convert, launch, version or --help)',
    ],
  ])('%j is refused with the argument and the fix', (args, message) => {
    expect(() => parseCommand(args)).toThrow(message);
  });

  test.each([
    [[]],
    [['--help']],
    [['-h']],
    [['help']],
    [['plan', '--help']],
    [['help', 'plan']],
    [['plan', '-f', 'a', '-h']],
  ])('%j prints help', (args) => {
    expect(parseCommand(args).kind).toBe('help');
  });

  test('the help of plan documents every exit code', () => {
    for (const code of [0, 1, 2, 3]) expect(planUsage).toMatch(new RegExp(`^  ${code} {3}\\w`, 'm'));
  });
});

test('a command that is nearly one is told with the one that was meant', () => {
  expect(() => parseCommand(['plann'])).toThrow(
    'plann: is not a command (did you mean plan? use deploy, upgrade, status, uninstall, plan, disrupt, convert, launch, version or --help)',
  );
  expect(() => parseCommand(['xyz'])).toThrow(
    'xyz: is not a command (use deploy, upgrade, status, uninstall, plan, disrupt, convert, launch, version or --help)',
  );
});
