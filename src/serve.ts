// `cowry serve`: a service in the foreground, from its first line to its last signal.

import { type ServiceOptions, startService } from './app.ts'
import { removeServerFile, writeServerFile } from './cli/server-file.ts'
import type { ServeOptions } from './cli/shell.ts'
import { startCluster, WorkerNotStarted } from './cluster.ts'
import type { Config, Role } from './config.ts'
import type { LogKey } from './core/log-lines.ts'
import { createLog, errorFields, type LogOutput, openLogOutput } from './kit/observability/log.ts'
import { prettyOutput } from './kit/observability/pretty-output.ts'
import { openPrimaryChannel, type PrimaryChannel, type ServiceInfo } from './primary-channel.ts'

// A crashed process is crash-safe by design; this much time is for the requests that are not to blame.
const CRASH_DRAIN_MS = 5_000

// One Ctrl-C comes twice under npm, which passes on what the terminal has sent us already.
const FORCE_EXIT_AFTER_MS = 1_000

// Whoever takes the log is there or is not; the last lines are not worth more than this.
const LOG_FLUSH_TIMEOUT_MS = 1_000

/** Runs until a signal asks it to end; answers the exit code. */
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
      // A service manager may tell every process at once to end.
      if (!isEnding) log.write('postgres.exited', { reason })
      ending.resolve(1)
    },
  })
  try {
    // Who was asked to end while it started does not welcome anybody.
    if (!isEnding) await (primary ? primary.ready(service) : announce(config, options, service, print))
    const code = await ending.promise
    if (code !== 0) setTimeout(() => process.exit(code), CRASH_DRAIN_MS).unref()
    return code
  } finally {
    await service.stop()
    await removeServerFile(config.dataDir, process.pid)
    if (!isQuiet) print('Cowry has stopped.')
    // A line that nobody takes would keep the process for ever: also an ordinary exit waits for it.
    if (!(await output.end(LOG_FLUSH_TIMEOUT_MS))) process.kill(process.pid, 'SIGKILL')
  }
}

/** In a terminal the log is for people, beside the instructions; with --json, and everywhere else, it is JSON. */
function openOutput(json: boolean): LogOutput {
  const output = openLogOutput(process.stderr.fd)
  // hasColors honours NO_COLOR and the terminal type.
  return process.stderr.isTTY && !json ? prettyOutput(output, process.stderr.hasColors()) : output
}

interface Served extends ServiceInfo {
  stop(): Promise<void>
}

/** One process, or those that share the port; a worker is one of those and starts no others. */
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
  // A worker listens nowhere: beside an API process on the same folder it must not stand in its way.
  if (role !== 'worker') await writeServerFile(dataDir, { url: service.url, pid: process.pid })
  const lines = json ? [JSON.stringify(serviceInfo(role, service))] : banner(role, service)
  for (const line of lines) print(line)
}

function watchProcess(end: (code: number) => void, logFault: (key: LogKey, error: unknown) => void): void {
  let canForceExit = false
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      // Who asks again does not want to wait for what is under way.
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
  const { demoKey } = service
  const [url, reference] = role === 'worker' ? [null, null] : [service.url, `${service.publicUrl}/docs`]
  return { role, pid: process.pid, url, reference, demoKey }
}

function banner(role: Role, service: ServiceInfo): string[] {
  if (role === 'worker') return ['Cowry does the background work; Ctrl-C ends it.']
  const lines = [`Cowry listens on   ${service.url}`, `API reference      ${service.publicUrl}/docs`]
  if (service.demoKey === null) return lines
  return [...lines, `Demo key           ${service.demoKey}`, '', curlLine(service.url, service.demoKey), '']
}

/** One line, so that it can be pasted as it is and as often as one likes: the shell makes a new reference each time. */
function curlLine(url: string, demoKey: string): string {
  const customer = '{"email": "amina@example.com", "firstname": "Amina", "lastname": "Odhiambo"}'
  const body = `{"amount": 1250.5, "currency": "KES", "reference": "order-'$(date +%s)-$RANDOM'", "customer": ${customer}}`
  const headers = `-H 'x-api-key: ${demoKey}' -H 'content-type: application/json'`
  return `curl -sS ${url}/api/v1/checkout/initiate-payment ${headers} -d '${body}'`
}
