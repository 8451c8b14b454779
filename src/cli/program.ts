// The command line: registers every command, and reports its result and exit code.

import { Command, CommanderError } from 'commander'
import packageFacts from '../../package.json' with { type: 'json' }
import { type ClientConfig, ConfigError, readClientConfig } from '../config.ts'
import { systemClock } from '../kit/clock.ts'
import { createHttpClient, type HttpClient } from '../kit/http/http-client.ts'
import { systemRandom } from '../kit/random.ts'
import { addArchiveCommands } from './commands/archive.ts'
import { addAuditCommands } from './commands/audit.ts'
import { addCaseCommands } from './commands/cases.ts'
import { addCellCommands } from './commands/cells.ts'
import { addClockCommands } from './commands/clock.ts'
import { addDemoCommand } from './commands/demo.ts'
import { addDocsCommand } from './commands/docs.ts'
import { addDoctorCommand } from './commands/doctor.ts'
import { addEventCommands } from './commands/events.ts'
import { addGatewayCommands } from './commands/gateways.ts'
import { addKeyCommands } from './commands/keys.ts'
import { addListenCommand } from './commands/listen.ts'
import { addLogCommands } from './commands/logs.ts'
import { addMcpCommand } from './commands/mcp.ts'
import { addMerchantCommands } from './commands/merchants/merchants.ts'
import { addPeopleCommands } from './commands/people.ts'
import { addReconcileCommands } from './commands/reconcile.ts'
import { addSandboxCommand } from './commands/sandbox.ts'
import { addServeCommand } from './commands/serve.ts'
import { addTriggerCommand } from './commands/trigger.ts'
import { connectMerchant } from './merchant-client.ts'
import { connectOperator } from './operator-client.ts'
import type { EntryPoints, Env, Shell } from './shell.ts'
import {
  CommandError,
  type Envelope,
  handleEpipe,
  systemTerminal,
  type Terminal,
  unavailableCellsOf,
} from './terminal.ts'

export interface CommandLineOptions {
  entryPoints?: EntryPoints
  terminal?: Terminal
  /** Undefined means the environment of the process. */
  env?: Env
  /** Interrupts a command that runs until then; signals do it if this is absent. */
  interruption?: AbortSignal
}

const noEntryPoint = () => Promise.reject(new Error('this program cannot start the service'))
const NO_ENTRY_POINTS: EntryPoints = {
  serve: noEntryPoint,
  writeDocs: noEntryPoint,
  fillDemo: noEntryPoint,
  archive: noEntryPoint,
  listArchives: noEntryPoint,
}

/** Runs one command and returns the exit code of the process. */
export async function runCommandLine(
  argv: string[],
  { entryPoints = NO_ENTRY_POINTS, terminal = systemTerminal, env, interruption }: CommandLineOptions,
): Promise<number> {
  if (terminal === systemTerminal) handleEpipe(argv)
  const json = argv.includes('--json')
  const shell = makeShell(terminal, entryPoints, env, interruption)
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
    // With --json the output is exactly one document, so commander's error texts are held back for reportError.
    .configureOutput({ writeOut: terminal.out, writeErr: json ? () => undefined : terminal.err })
    .showHelpAfterError('Add --help for the options.')
  addServeCommand(program, shell)
  addSandboxCommand(program, shell)
  addDemoCommand(program, shell)
  addMerchantCommands(program, shell)
  addKeyCommands(program, shell)
  addPeopleCommands(program, shell)
  addGatewayCommands(program, shell)
  addCellCommands(program, shell)
  addArchiveCommands(program, shell)
  addListenCommand(program, shell)
  addTriggerCommand(program, shell)
  addClockCommands(program, shell)
  addEventCommands(program, shell)
  addMcpCommand(program, shell)
  addLogCommands(program, shell)
  addReconcileCommands(program, shell)
  addAuditCommands(program, shell)
  addCaseCommands(program, shell)
  addDoctorCommand(program, shell)
  addDocsCommand(program, shell)
  return program
}

const HELP_FOOTER = `
The commands call a running service. On its machine they find its address in the data folder (COWRY_DATA_DIR). On
another machine set COWRY_URL, and COWRY_ADMIN_TOKEN for operator commands. Listen, trigger, clock, events and mcp act for
a merchant: the demo merchant of the data folder, or the owner of COWRY_API_KEY.`

function makeShell(
  terminal: Terminal,
  entryPoints: EntryPoints,
  env: Env | undefined,
  interruption: AbortSignal | undefined,
): Shell {
  const withService = async <Result>(work: (config: ClientConfig, http: HttpClient) => Promise<Result>) => {
    const config = readClientConfig(env)
    const http = createHttpClient({ maxBodyBytes: MAX_RESPONSE_BYTES })
    try {
      return await work(config, http)
    } finally {
      await http.close()
    }
  }
  const withOperator: Shell['withOperator'] = (work) =>
    withService(async (config, http) => work(await connectOperator(config, http)))
  return {
    exitCode: 0,
    env,
    terminal,
    entryPoints,
    clock: systemClock,
    random: systemRandom(systemClock),
    show(envelope, options, renderText) {
      terminal.out(options.json ? `${JSON.stringify(envelope, null, 2)}\n` : renderText())
      const down = unavailableCellsOf(envelope)
      if (down.length > 0) terminal.err(`Not complete: these cells do not answer: ${down.join(', ')}.\n`)
    },
    callOperator: (...request) => withOperator((operator) => operator.call(...request)),
    withOperator,
    withMerchant: (options, work) =>
      withService(async (config, http) => {
        const merchant = await connectMerchant(config, http, options)
        const reconnect = () => connectMerchant({ ...config, localUrl: merchant.url }, http, options)
        return work(merchant, { http, config, reconnect })
      }),
    untilInterrupted: () => interruption ?? processInterruption(),
  }
}

/** A page of a hundred events at their largest size. */
const MAX_RESPONSE_BYTES = 8_388_608

// Under npm one Ctrl-C arrives twice: npm forwards the signal that the terminal already sent.
const FORCE_EXIT_AFTER_MS = 1_000

function processInterruption(): AbortSignal {
  const controller = new AbortController()
  let interruptedAt = 0
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      const now = systemClock.now().getTime()
      // A second signal means that the user does not want to wait.
      if (controller.signal.aborted && now - interruptedAt > FORCE_EXIT_AFTER_MS) process.exit(130)
      if (!controller.signal.aborted) interruptedAt = now
      controller.abort()
    })
  }
  return controller.signal
}

function reportError(error: unknown, terminal: Terminal, json: boolean): number {
  // Commander also throws after printing help, with exit code 0. Without --json it has printed its message already.
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

/** Errors that the user can correct print their message; internal errors print their stack. */
function errorText(error: unknown): string {
  if (error instanceof CommandError || error instanceof ConfigError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
