// npm run build: compiles the sources as ES modules and as CommonJS, each with its types, into dist.

import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = import.meta.dirname

rmSync(join(FOLDER, 'dist'), { recursive: true, force: true })
compile()
compile(
  '--outDir',
  'dist/cjs',
  '--module',
  'commonjs',
  '--moduleResolution',
  'bundler',
  '--verbatimModuleSyntax',
  'false',
)
// Otherwise the type of the package would make these files ES modules.
writeFileSync(join(FOLDER, 'dist/cjs/package.json'), '{ "type": "commonjs" }\n')

// The compiler rewrites the extensions in the code, but not in the types.
for (const path of globSync('dist/**/*.d.ts', { cwd: FOLDER })) {
  const text = readFileSync(join(FOLDER, path), 'utf8')
  writeFileSync(join(FOLDER, path), text.replaceAll(/(?<=(?:from|import\() ?'\.[^']*)\.ts(?=')/g, '.js'))
}

function compile(...options: string[]): void {
  execFileSync('tsc', ['-p', 'tsconfig.json', ...options], { cwd: FOLDER, stdio: 'inherit' })
}
