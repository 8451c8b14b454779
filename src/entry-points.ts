import type { EntryPoints } from './cli/shell.ts'
import { readConfig } from './config.ts'

/** The commands that need the service's code. Each is imported only when it runs, so that the other commands start fast. */
export const ENTRY_POINTS: EntryPoints = {
  async serve(env, options) {
    const [{ serve }, { GATEWAYS }] = await Promise.all([
      import('./serve.ts'),
      import('./compose/gateways.ts'),
    ])
    return serve(readConfig(env, GATEWAYS), options)
  },
  async writeDocs() {
    const { writeDocs } = await import('./docs.ts')
    return writeDocs()
  },
  async fillDemo(env, options) {
    const { fillDemo } = await import('./compose/demo.ts')
    return fillDemo(readConfig(env), options)
  },
  async archive(env, options) {
    const [{ runArchive }, { GATEWAYS }] = await Promise.all([
      import('./compose/archive.ts'),
      import('./compose/gateways.ts'),
    ])
    return runArchive(readConfig(env, GATEWAYS), options)
  },
  async listArchives(env) {
    const [{ listAllArchives }, { GATEWAYS }] = await Promise.all([
      import('./compose/archive.ts'),
      import('./compose/gateways.ts'),
    ])
    return listAllArchives(readConfig(env, GATEWAYS))
  },
}
