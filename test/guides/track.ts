// Follows a guide in one language, step by step, as a reader in one terminal does: files are saved, variables are kept, and
// steps that exist only for curl are done with curl.

import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { Cleanup } from '../support/database.ts'
import { ROOT } from '../support/process.ts'
import { sendBytes } from '../support/raw-http.ts'
import { assertResponse, isShown } from './compare.ts'
import type { Language, Step } from './page.ts'

export interface Reader {
  language: Language
  /** Where the reader saves files. */
  folder: string
  url: string
  key: string
  /** The reader's own port for webhooks, instead of the one in the guides. */
  port: number
}

const EXTENSIONS = { bash: 'sh', ts: 'ts', python: 'py', php: 'php' }
const SHOWN_PORT = '18300'
// A step may install packages.
const STEP_TIMEOUT_MS = 300_000
const RECEIVE_TIMEOUT_MS = 20_000

interface ForgedRequest {
  headers: Record<string, string>
  /** Sent with chunked encoding, so without a content-length. */
  chunks?: string[]
}

const FORGED_REQUESTS: readonly ForgedRequest[] = [
  { headers: {} },
  { headers: { 'webhook-timestamp': 'abc', 'webhook-signature': 'v1,abc' } },
  { headers: { 'webhook-timestamp': '9'.repeat(5000), 'webhook-signature': 'v1,abc' } },
  { headers: { 'webhook-timestamp': '1' }, chunks: ['{', '}'] },
]

/** Prepares the folder: the SDK from its sources, as if it were installed. */
export function prepareFolder(reader: Reader): void {
  const sdk = join(reader.folder, 'node_modules/@cowry/sdk')
  mkdirSync(sdk, { recursive: true })
  const source = pathToFileURL(join(ROOT, 'packages/sdk/src/index.ts')).href
  writeFileSync(join(sdk, 'package.json'), '{"type": "module", "exports": "./index.js"}')
  writeFileSync(join(sdk, 'index.js'), `export * from '${source}'\n`)
  writeFileSync(join(reader.folder, 'package.json'), '{"type": "module"}')
  writeFileSync(join(reader.folder, 'environment'), '')
}

export async function followGuide(t: Cleanup, reader: Reader, steps: readonly Step[]): Promise<void> {
  let receiver: Receiver | undefined
  for (const step of steps) {
    const started = saveFile(reader, step)
    if (started?.startsWith('receiver.')) receiver = await startReceiver(t, reader, started)
    if (started === undefined) await followStep(reader, step, receiver)
  }
}

/** Saves the file of a step, and returns its name. */
export function saveFile(reader: Reader, { files, samples }: Step): string | undefined {
  if (Object.keys(files).length === 0) return undefined
  const [name, code] = [files[reader.language], samples[reader.language]]
  if (name !== undefined && code !== undefined) write(reader, name, code)
  return name ?? ''
}

async function followStep(reader: Reader, step: Step, receiver: Receiver | undefined): Promise<void> {
  const isOnlyCurl = step.samples.bash !== undefined && Object.keys(step.samples).length === 1
  const language = isOnlyCurl ? 'bash' : reader.language
  const code = step.samples[language]
  if (code === undefined) return
  const printed = await run(reader, language, code, step.line)
  const result = `the step at line ${step.line} printed in ${language}:\n${printed}`
  if (language === 'bash' && step.json !== undefined) {
    assertResponse(printed, step.json)
  } else {
    assert.ok(step.text !== undefined, `the guide does not show what the step at line ${step.line} prints`)
    assert.ok(isShown(printed, step.text), `${result}and the guide shows:\n${step.text}`)
  }
  if (receiver && step.receiver !== undefined) await receiver.waitFor(step.receiver)
}

async function run(reader: Reader, language: Language, code: string, line: number): Promise<string> {
  const file = `step-${line}.${EXTENSIONS[language]}`
  write(reader, file, code)
  const command = language === 'bash' ? `. ./${file}` : interpreterOf(language, file).join(' ')
  // set -a exports every variable that the step assigns, and the next step reads them again.
  const script = `set -a; . ./environment; ${command} && export -p > environment`
  return new Promise((resolve, reject) => {
    const options = { cwd: reader.folder, env: environmentOf(reader), timeout: STEP_TIMEOUT_MS }
    execFile('bash', ['-c', script], options, (error, stdout, stderr) => {
      if (error) reject(new Error(`line ${line} in ${language} failed: ${error.message}\n${stdout}${stderr}`))
      else resolve(stdout + stderr)
    })
  })
}

function write(reader: Reader, name: string, code: string): void {
  writeFileSync(join(reader.folder, name), code.replaceAll(SHOWN_PORT, String(reader.port)))
}

function interpreterOf(language: Language, file: string): [string, ...string[]] {
  if (language === 'ts') return ['node', '--no-warnings', file]
  return [language === 'python' ? 'python3' : language, file]
}

function environmentOf({ url, key }: Reader): Record<string, string> {
  const path = `${dirname(process.execPath)}:${process.env.PATH ?? ''}`
  const { HOME = '', NODE_EXTRA_CA_CERTS } = process.env
  return {
    PATH: path,
    HOME,
    COWRY_URL: url,
    COWRY_API_KEY: key,
    PYTHONUNBUFFERED: '1',
    // Where the network has certificates of its own, npm waits for ever without them.
    ...(NODE_EXTRA_CA_CERTS !== undefined && { NODE_EXTRA_CA_CERTS }),
  }
}

interface Receiver {
  waitFor(shown: string): Promise<void>
}

async function startReceiver(t: Cleanup, reader: Reader, file: string): Promise<Receiver> {
  const { port, folder, language } = reader
  const command =
    language === 'php' ? `php -S localhost:${port} ${file}` : interpreterOf(language, file).join(' ')
  const child = spawn('bash', ['-c', `set -a; . ./environment; exec ${command}`], {
    cwd: folder,
    env: environmentOf(reader),
  })
  t.after(() => end(child))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (output += String(part)))
  await until(
    () => isListening(port),
    () => `the receiver does not listen:\n${output}`,
  )
  await breakOffRequest(port)
  assert.ok(await isListening(port), `the receiver ended after a request that was broken off:\n${output}`)
  for (const forged of FORGED_REQUESTS) assert.equal(await answerTo(port, forged), 400, output)
  // Only the lines of the receiver itself: PHP's server logs the requests too.
  const waitFor = (shown: string) =>
    until(
      async () =>
        shown
          .trim()
          .split('\n')
          .every((line) => output.split('\n').some((one) => isShown(one, `…${line}`))),
      () => `the receiver printed:\n${output}\nand the guide shows:\n${shown}`,
    )
  return { waitFor }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
}

async function isListening(port: number): Promise<boolean> {
  const answer = await fetch(`http://localhost:${port}/`).catch(() => undefined)
  return answer !== undefined
}

/** Sends a part of a body and ends the connection, as a sender that crashes does. */
async function breakOffRequest(port: number): Promise<void> {
  const socket = connect(port, 'localhost')
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.resume().end('POST /hook HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{')
  await closed
}

/** Raw bytes: a receiver may answer and close the connection before it has read the body, which fetch reports as an error. */
async function answerTo(port: number, { headers, chunks }: ForgedRequest): Promise<number> {
  const framing = chunks ? 'transfer-encoding: chunked' : 'content-length: 2'
  const lines = Object.entries({ 'webhook-id': 'forged', ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  )
  const head = ['POST /hook HTTP/1.1', 'host: localhost', framing, ...lines].join('\r\n')
  const body = chunks ? [...chunks, ''].map((chunk) => `${chunk.length}\r\n${chunk}\r\n`).join('') : '{}'
  return (await sendBytes(`http://localhost:${port}`, `${head}\r\n\r\n${body}`)).http
}

async function until(isDone: () => Promise<boolean>, explain: () => string): Promise<void> {
  for (const deadline = Date.now() + RECEIVE_TIMEOUT_MS; !(await isDone()); ) {
    assert.ok(Date.now() < deadline, explain())
    await delay(50)
  }
}
