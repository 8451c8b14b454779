#!/usr/bin/env node
// The program is TypeScript that Node runs as it is. A Node that is too old for that hands over to the one that
// npm has installed with the project. Plain JavaScript, because the old one must be able to read it.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const isNewEnough = major > 22 || (major === 22 && minor >= 18)
const ownNode = fileURLToPath(new URL('../node_modules/.bin/node', import.meta.url))
const main = new URL('../src/main.ts', import.meta.url)

if (isNewEnough) {
  await import(main.href)
} else if (existsSync(ownNode)) {
  const child = spawn(ownNode, [fileURLToPath(main), ...process.argv.slice(2)], { stdio: 'inherit' })
  // A signal to this process is meant for the program.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 1
    if (signal) console.error(`cowry was ended by ${signal}`)
  })
} else {
  console.error(
    `cowry needs Node 22.18 or newer and this is ${process.versions.node}. ` +
      'Install a newer Node, or run "npm install" in the folder of cowry, which brings one for Linux.',
  )
  process.exitCode = 1
}
