#!/usr/bin/env node
// Starts the program: from src in the repository, which Node runs as it is, and from dist in the npm package. A Node that
// is too old hands over to the one that npm has installed with it. Plain JavaScript, because the old one must read it.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const isNewEnough = major > 22 || (major === 22 && minor >= 18)
const source = new URL('../src/main.ts', import.meta.url)
const main = existsSync(source) ? source : new URL('../dist/main.js', import.meta.url)

/** The Node of an optional dependency, wherever npm has placed it; undefined on platforms without one. */
function findOwnNode() {
  try {
    return createRequire(import.meta.url).resolve(`node-${process.platform}-${process.arch}/bin/node`)
  } catch {
    return undefined
  }
}

const ownNode = isNewEnough ? undefined : findOwnNode()

if (isNewEnough) {
  await import(main.href)
} else if (ownNode) {
  const args = [...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)]
  const child = spawn(ownNode, args, { stdio: 'inherit' })
  // A signal to this process is meant for the program.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 1
    if (signal) console.error(`cowry was ended by ${signal}`)
  })
} else {
  console.error(
    `cowry needs Node 22.18 or newer and this is ${process.versions.node}. ` +
      'Install a newer Node, or on Linux install cowry again without --omit=optional, which brings one.',
  )
  process.exitCode = 1
}
