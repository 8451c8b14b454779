// `cowry serve`: runs the service in the foreground, handles signals and uncaught errors, and returns the exit code.

import { type ServiceOptions, startService } from './app.ts'
import { removeServerFile, writeServerFile } from './cli/server-file.ts'
import type { ServeOptions } from './cli/shell.ts'
import { startCluster, WorkerNotStarted } from './cluster.ts'
import type { Config, Role } from './config.ts'
import type { LogKey } from './core/log-lines.ts'
import { createLog, errorFields, type LogOutput, openLogOutput } from './kit/observability/log.ts'
import { prettyOutput } from './kit/observability/pretty-output.ts'
import { openPrimaryChannel, type PrimaryChannel, type ServiceInfo } from './primary-channel.ts'

// After an uncaught error, the requests in flight get this much time to finish. No data depends on it.
const CRASH_DRAIN_MS = 5_000

// Under npm one Ctrl-C arrives twice: from the terminal and from npm. A second signal forces the exit only after this.
const FORCE_EXIT_AFTER_MS = 1_000

// If the reader of the log does not take the last lines within this time, they are dropped.
const LOG_FLUSH_TIMEOUT_MS = 1_000

/** Runs until SIGINT, SIGTERM or a fatal error, and returns the exit code. */
export async function serve(config: Config, options: ServeOptions): Promise<number> {
  const primary = openPrimaryChannel()
  try {
    return await serveUntilEnd(config, options, primary)
  } catch (error) {
    if (error instanceof WorkerNotStarted) return error.exitCode
    throw error
  } finally {
    primary?.release()
  }
}

async function serveUntilEnd(
  config: Config,
  options: ServeOptions,
  primary: PrimaryChannel | undefined,
): Promise<number> {
  const { role, json } = options
  const isQuiet = json || primary !== undefined
  const print = (line: string) => void process.stdout.write(`${line}\n`)
  const output = openOutput(json)
  const log = createLog(config.logLevel, output)
  output.onDropped((count) => log.write('log.lines_dropped', { count }))
  const ending = Promise.withResolvers<number>()
  let isEnding = false
  void ending.promise.then(() => {
    isEnding = true
  })
  watchProcess(ending.resolve, (key, error) => log.write(key, errorFields(error)))
  const service = await start(config, options, primary, {
    role,
    log,
    onProgress: isQuiet ? () => undefined : print,
    onDatabaseExit: (reason) => {
      // Not an error while stopping: a service manager may send SIGTERM to every process at once.
      if (!isEnding) log.write('postgres.exited', { reason })
    },
    onDatabaseRestart: () => log.write('postgres.restarted'),
  })
  try {
    releaseMemoryOfStart()
    // A service that is already stopping must not report that it is ready.
    if (!isEnding) await (primary ? primary.ready(service) : announce(config, options, service, print))
    const code = await ending.promise
    if (code !== 0) setTimeout(() => process.exit(code), CRASH_DRAIN_MS).unref()
    return code
  } finally {
    await service.stop()
    await removeServerFile(config.dataDir, process.pid)
    if (!isQuiet) print('Cowry has stopped.')
    // Even process.exit waits for a blocked write to the log, so only SIGKILL ends the process then.
    if (!(await output.end(LOG_FLUSH_TIMEOUT_MS))) process.kill(process.pid, 'SIGKILL')
  }
}

/**
 * Returns the memory to the system that only the start needed: 40 of 205 MB, which V8 keeps until there is load. It takes a
 * tenth of a second, so it is done once, when the service has just started. Without --expose-gc it is not done: the
 * other way to get at the collector is a second V8 context, after which a request takes a fifth more processor time.
 */
function releaseMemoryOfStart(): void {
  // The last resort also returns pages that are kept for reuse.
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

/** Human-readable in a terminal; JSON with --json and everywhere else. */
function openOutput(json: boolean): LogOutput {
  const output = openLogOutput(process.stderr.fd)
  // hasColors honours NO_COLOR and the terminal type.
  return process.stderr.isTTY && !json ? prettyOutput(output, process.stderr.hasColors()) : output
}

interface Served extends ServiceInfo {
  stop(): Promise<void>
}

/** Starts one process or a cluster. A worker of a cluster starts no other workers. */
function start(
  config: Config,
  { workers }: ServeOptions,
  primary: PrimaryChannel | undefined,
  options: ServiceOptions,
): Promise<Served> {
  return workers > 1 && !primary
    ? startCluster(config, options, workers)
    : startService(config, { ...options, primary })
}

async function announce(
  { dataDir }: Config,
  { role, json }: ServeOptions,
  service: ServiceInfo,
  print: (line: string) => void,
): Promise<void> {
  // The role worker listens on no port, and must not overwrite the file of an API process with the same data folder.
  if (role !== 'worker') await writeServerFile(dataDir, { url: service.url, pid: process.pid })
  const lines = json ? [JSON.stringify(serviceInfo(role, service))] : banner(role, service)
  for (const line of lines) print(line)
}

function watchProcess(end: (code: number) => void, logFault: (key: LogKey, error: unknown) => void): void {
  let canForceExit = false
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      // A second signal ends the process without waiting for the work in progress.
      if (canForceExit) process.exit(130)
      setTimeout(() => {
        canForceExit = true
      }, FORCE_EXIT_AFTER_MS).unref()
      end(0)
    })
  }
  process.on('uncaughtException', (error) => {
    logFault('process.uncaught_exception', error)
    end(1)
  })
  process.on('unhandledRejection', (error) => {
    logFault('process.unhandled_rejection', error)
    end(1)
  })
}

function serviceInfo(role: Role, service: ServiceInfo) {
  const { demoKey, signInUrl: dashboard } = service
  const [url, reference] = role === 'worker' ? [null, null] : [service.url, `${service.publicUrl}/docs/api`]
  return { role, pid: process.pid, url, reference, demoKey, dashboard }
}

function banner(role: Role, service: ServiceInfo): string[] {
  if (role === 'worker') return ['Cowry does the background work; Ctrl-C ends it.']
  const lines = [`Cowry listens on   ${service.url}`, `API reference      ${service.publicUrl}/docs/api`]
  if (service.demoKey === null) return lines
  // Browsers do not send the part after #, and the page keeps the key in its tab.
  const quickstart = `${service.publicUrl}/docs/quickstart#key=${service.demoKey}`
  return [
    ...lines,
    `Demo key           ${service.demoKey}`,
    '',
    curlLine(service.url, service.demoKey),
    '',
    `Dashboard          ${service.signInUrl}`,
    '                   (works once, within a day; npm run cowry -- people demo-link prints another)',
    `Quickstart         ${quickstart}`,
    '',
  ]
}

/** One line that can be pasted repeatedly: the shell generates a new reference each time. */
function curlLine(url: string, demoKey: string): string {
  const customer = '{"email": "amina@example.com", "firstname": "Amina", "lastname": "Odhiambo"}'
  const body = `{"amount": 1250.5, "currency": "KES", "reference": "order-'$(date +%s)-$RANDOM'", "customer": ${customer}}`
  const headers = `-H 'x-api-key: ${demoKey}' -H 'content-type: application/json'`
  return `curl -sS ${url}/api/v1/checkout/initiate-payment ${headers} -d '${body}'`
}
