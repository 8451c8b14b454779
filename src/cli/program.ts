// The command line: every command of the program, its options and how its end is told.

import { Command, CommanderError } from 'commander'
import packageFacts from '../../package.json' with { type: 'json' }
import { type ClientConfig, ConfigError, readClientConfig } from '../config.ts'
import { systemClock } from '../kit/clock.ts'
import { createHttpClient, type HttpClient } from '../kit/http-client.ts'
import { systemRandom } from '../kit/random.ts'
import { addDocsCommand } from './commands/docs.ts'
import { addDoctorCommand } from './commands/doctor.ts'
import { addEventCommands } from './commands/events.ts'
import { addGatewayCommands } from './commands/gateways.ts'
import { addKeyCommands } from './commands/keys.ts'
import { addListenCommand } from './commands/listen.ts'
import { addLogCommands } from './commands/logs.ts'
import { addMerchantCommands } from './commands/merchants.ts'
import { addReconcileCommands } from './commands/reconcile.ts'
import { addSandboxCommand } from './commands/sandbox.ts'
import { addServeCommand } from './commands/serve.ts'
import { addTriggerCommand } from './commands/trigger.ts'
import { connectMerchant } from './merchant-client.ts'
import { connectOperator } from './operator-client.ts'
import type { Env, Shell } from './shell.ts'
import { CommandError, type Envelope, handleEpipe, systemTerminal, type Terminal } from './terminal.ts'

/** Runs one command and gives the exit code of the process. */
export async function runCommandLine(
  argv: string[],
  terminal: Terminal = systemTerminal,
  env?: Env,
  interruption?: AbortSignal,
): Promise<number> {
  if (terminal === systemTerminal) handleEpipe(argv)
  const json = argv.includes('--json')
  const shell = makeShell(terminal, env, interruption)
  try {
    await buildProgram(terminal, json, shell).parseAsync(argv, { from: 'user' })
    return shell.exitCode
  } catch (error) {
    return reportError(error, terminal, json)
  }
}

function buildProgram(terminal: Terminal, json: boolean, shell: Shell): Command {
  const program = new Command('cowry')
    .description('Self-hosted payment collection: the service and its operator commands.')
    .version(packageFacts.version)
    .addHelpText('after', HELP_FOOTER)
    .exitOverride()
    // With --json there is one document on the output and nothing beside it, so commander's own words wait for reportError.
    .configureOutput({ writeOut: terminal.out, writeErr: json ? () => undefined : terminal.err })
    .showHelpAfterError('Add --help for the options.')
  addServeCommand(program, shell)
  addSandboxCommand(program, shell)
  addMerchantCommands(program, shell)
  addKeyCommands(program, shell)
  addGatewayCommands(program, shell)
  addListenCommand(program, shell)
  addTriggerCommand(program, shell)
  addEventCommands(program, shell)
  addLogCommands(program, shell)
  addReconcileCommands(program, shell)
  addDoctorCommand(program, shell)
  addDocsCommand(program, shell)
  return program
}

const HELP_FOOTER = `
The commands speak to a running service. On its machine they find it by the data folder (COWRY_DATA_DIR); from
elsewhere set COWRY_URL, and COWRY_ADMIN_TOKEN for those of operators. Listen, trigger and events speak for a
merchant: the demo merchant of the data folder, or that of COWRY_API_KEY.`

function makeShell(terminal: Terminal, env: Env | undefined, interruption: AbortSignal | undefined): Shell {
  const withService = async <Result>(work: (config: ClientConfig, http: HttpClient) => Promise<Result>) => {
    const config = readClientConfig(env)
    const http = createHttpClient({ maxBodyBytes: MAX_ANSWER_BYTES })
    try {
      return await work(config, http)
    } finally {
      await http.close()
    }
  }
  return {
    exitCode: 0,
    env,
    terminal,
    clock: systemClock,
    random: systemRandom(systemClock),
    show(envelope, options, renderText) {
      terminal.out(options.json ? `${JSON.stringify(envelope, null, 2)}\n` : renderText())
    },
    withOperator: (work) => withService(async (config, http) => work(await connectOperator(config, http))),
    withMerchant: (options, work) =>
      withService(async (config, http) => {
        const merchant = await connectMerchant(config, http, options)
        const reconnect = () => connectMerchant({ ...config, localUrl: merchant.url }, http, options)
        return work(merchant, { http, config, reconnect })
      }),
    untilInterrupted: () => interruption ?? processInterruption(),
  }
}

/** A page of a hundred events with everything that merchants may put into them. */
const MAX_ANSWER_BYTES = 8_388_608

// One Ctrl-C comes twice under npm, which passes on what the terminal has sent us already.
const FORCE_EXIT_AFTER_MS = 1_000

function processInterruption(): AbortSignal {
  const controller = new AbortController()
  let interruptedAt = 0
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      const now = systemClock.now().getTime()
      // Who asks again does not want to wait for what is under way.
      if (controller.signal.aborted && now - interruptedAt > FORCE_EXIT_AFTER_MS) process.exit(130)
      if (!controller.signal.aborted) interruptedAt = now
      controller.abort()
    })
  }
  return controller.signal
}

function reportError(error: unknown, terminal: Terminal, json: boolean): number {
  // Help that was asked for ends this way too, with 0. Commander has printed its words already, except for scripts.
  if (error instanceof CommanderError && (error.exitCode === 0 || !json)) return error.exitCode
  if (json) terminal.out(`${JSON.stringify(envelopeOf(error), null, 2)}\n`)
  else terminal.err(`${errorText(error)}\n`)
  return 1
}

function envelopeOf(error: unknown): Envelope {
  if (error instanceof CommandError) return error.envelope
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof CommanderError) return new CommandError('usage', message).envelope
  if (error instanceof ConfigError) return new CommandError('settings', message).envelope
  return new CommandError('internal_error', message).envelope
}

/** What a user can act on in its own words; what is our fault with the place where it happened. */
function errorText(error: unknown): string {
  if (error instanceof CommandError || error instanceof ConfigError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
