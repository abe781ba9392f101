import { describe, expect, test } from 'vitest';
import { parseCommand, refuseSwallowedOptions, usage, UsageError } from '../../../../sandbox/start/command.ts';

const defaults = {
  kind: 'run',
  files: null,
  once: false,
  kubeconfig: null,
  seed: 'nodewright',
  bootSeconds: 8,
  functionsPort: null,
  log: 'text',
  orders: { settings: [], quota: [], azure: [], config: null },
} as const;

describe('npm start', () => {
  test('without arguments runs the examples until it is stopped', () => {
    expect(parseCommand([])).toEqual(defaults);
  });

  test('takes several files after one -f, and -f several times', () => {
    expect(parseCommand(['-f', 'a.yaml', 'b.yaml', '--once', '-f', 'c'])).toEqual({
      ...defaults,
      once: true,
      files: ['a.yaml', 'b.yaml', 'c'],
    });
  });

  test('understands every option, with a space or an equals sign', () => {
    const args = ['--kubeconfig=k', '--seed', 's=1', '--boot-seconds', '0.5', '--functions-port', '7072', '--log=json'];
    expect(parseCommand(args)).toEqual({
      ...defaults,
      kubeconfig: 'k',
      seed: 's=1',
      bootSeconds: 0.5,
      functionsPort: 7072,
      log: 'json',
    });
  });

  test('takes orders any number of times, and splits each at its first equals sign', () => {
    const args = ['--setting', 'FEATURE_GATES=A=true,B=false', '--setting=RESERVE_NODES=false', '--quota', 'cores=8'];
    expect(parseCommand([...args, '--azure=slowMs=5', '--config', 'lab.yaml'])).toEqual({
      ...defaults,
      orders: {
        settings: [
          { field: '--setting FEATURE_GATES', name: 'FEATURE_GATES', value: 'A=true,B=false' },
          { field: '--setting RESERVE_NODES', name: 'RESERVE_NODES', value: 'false' },
        ],
        quota: [{ field: '--quota cores', name: 'cores', value: '8' }],
        azure: [{ field: '--azure slowMs', name: 'slowMs', value: '5' }],
        config: 'lab.yaml',
      },
    });
  });

  test('notices an option that npm has kept to itself', () => {
    expect(() => refuseSwallowedOptions({ npm_config_once: 'true' })).toThrow('npm start -- --once');
    expect(() => refuseSwallowedOptions({ npm_config_setting: 'A=B' })).toThrow('npm start -- --setting');
    expect(() => refuseSwallowedOptions({ npm_config_loglevel: 'warn' })).not.toThrow();
  });

  test('applies nothing with --empty', () => {
    expect(parseCommand(['--empty'])).toEqual({ ...defaults, files: [] });
  });

  test('scales and evicts in a sandbox that runs', () => {
    expect(parseCommand(['scale', '20'])).toEqual({ kind: 'scale', replicas: 20, deployment: null });
    expect(parseCommand(['scale', '0', 'web'])).toEqual({ kind: 'scale', replicas: 0, deployment: 'web' });
    expect(parseCommand(['evict'])).toEqual({ kind: 'evict', node: null });
    expect(parseCommand(['evict', 'aks-a'])).toEqual({ kind: 'evict', node: 'aks-a' });
    expect(parseCommand(['freeze', 'aks-a'])).toEqual({ kind: 'freeze', node: 'aks-a' });
    expect(parseCommand(['thaw', 'aks-a'])).toEqual({ kind: 'thaw', node: 'aks-a' });
  });

  test('shows its help whatever else is asked for', () => {
    expect(parseCommand(['--once', '--help'])).toEqual({ kind: 'help' });
    for (const line of usage.split('\n')) expect(line.length).toBeLessThanOrEqual(110);
  });

  test.each([
    [['--bogus'], 'There is no option --bogus'],
    [['--foo'], /^There is no option --foo$/],
    [['--functions', '7'], 'There is no option --functions; did you mean --functions-port?'],
    [['--setings', 'A=B'], 'There is no option --setings; did you mean --setting?'],
    [['--setting', 'FOO'], '--setting FOO: write NAME=VALUE, as in --setting FEATURE_GATES=StaticCapacity=true'],
    [['--setting', '=FOO'], '--setting =FOO: write NAME=VALUE'],
    [['--quota'], '--quota needs NAME=VALUE, as in --quota cores=100000'],
    [['--azure', '--once'], '--azure needs NAME=VALUE, as in --azure requestMs=60..250'],
    [['--config'], '--config needs a file'],
    [['--config', 'a', '--config', 'b'], '--config is given more than once: keep one'],
    [['a.yaml'], 'files are given with -f'],
    [['-f'], '-f needs at least one file'],
    [['-f', '--once'], '-f needs at least one file'],
    [['--seed'], '--seed needs a text'],
    [['--kubeconfig', '--once'], '--kubeconfig needs a path'],
    [['--boot-seconds', '-1'], '--boot-seconds must be a number from 0 to 600'],
    [['--functions-port', '70000'], '--functions-port must be a whole number from 1 to 65535'],
    [['--log', 'xml'], '--log is text or json'],
    [['--empty', '-f', 'a'], 'exclude each other'],
    [['--empty', '--once'], 'leave one out'],
    [['scale'], 'scale needs the number of replicas'],
    [['scale', 'many'], 'scale must be a whole number'],
    [['scale', '1', 'a', 'b'], 'one argument too many'],
    [['evict', '--now'], 'evict takes the name of a node'],
    [['freeze'], 'freeze needs the name of a node'],
    [['thaw', 'a', 'b'], 'thaw: b is one argument too many'],
  ])('%j is refused with a sentence that names the mistake', (args, message) => {
    expect(() => parseCommand(args)).toThrow(UsageError);
    expect(() => parseCommand(args)).toThrow(message);
  });
});
