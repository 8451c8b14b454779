// npm run screens: takes the pictures in docs/screens anew, from real payments in a real browser.

import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startBrowser } from './browser/browser.ts'
import { type Camera, openCamera, type Shot } from './browser/camera.ts'
import { type Gallery, hangGallery, type SubjectName } from './browser/gallery.ts'
import { exitWithUsageError, parseOptions } from './support/command-line.ts'

const FOLDER = join(import.meta.dirname, '../docs/screens')
const KILOBYTE = 1_024
// A reader of the repository loads them all; a reader of the README the two that are framed.
const MAX_BYTES = 40 * KILOBYTE
const MAX_FRAMED_BYTES = 100 * KILOBYTE

const HELP = `npm run screens [-- --only <part of a name>]

Takes the pictures of the payer's pages anew and writes them to docs/screens: starts a service with a private
PostgreSQL and a browser from npm, makes payments in the sandbox, and ends everything again.

  --only  only the pictures with this in their name
  --help  this text
`

interface Picture {
  file: string
  maxBytes: number
  take(camera: Camera, subjects: Gallery['subjects']): Promise<Buffer>
}

function pictures(
  device: Shot['device'],
  language: Shot['language'],
  scheme: Shot['scheme'],
  names: SubjectName[],
): Picture[] {
  return names.map((name) => ({
    file: `${name}-${device}-${language}-${scheme}.webp`,
    maxBytes: MAX_BYTES,
    take: (camera, subjects) => camera.take(subjects[name], { device, language, scheme }),
  }))
}

function framed(file: string, language: Shot['language'], scheme: Shot['scheme']): Picture {
  return {
    file,
    maxBytes: MAX_FRAMED_BYTES,
    take: (camera, { open, prompt, paid }) =>
      camera.frame([open, prompt, paid], { device: 'tall phone', language, scheme }),
  }
}

const PICTURES: readonly Picture[] = [
  framed('checkout.webp', 'en', 'light'),
  framed('checkout-rtl-dark.webp', 'ar', 'dark'),
  ...pictures('phone', 'en', 'light', ['open', 'prompt', 'transfer', 'paid', 'receipt']),
  ...pictures('phone', 'en', 'dark', ['open', 'transfer', 'paid']),
  ...pictures('phone', 'ar', 'light', ['open', 'prompt', 'transfer', 'receipt']),
  ...pictures('phone', 'ar', 'dark', ['transfer']),
  ...pictures('phone', 'am', 'light', ['open']),
  ...pictures('phone', 'bn', 'light', ['open']),
  ...pictures('desktop', 'en', 'light', ['open', 'transfer', 'paid']),
  ...pictures('desktop', 'en', 'dark', ['open']),
  ...pictures('desktop', 'ar', 'light', ['open']),
  ...pictures('phone', 'en', 'light', ['card-page', 'three-d-secure']),
  ...pictures('desktop', 'en', 'light', ['landing']),
]

const { only = '' } = parseOptions(HELP, { only: { type: 'string' } })
const wanted = PICTURES.filter(({ file }) => file.includes(only))
if (wanted.length === 0)
  exitWithUsageError(`--only must be part of one of: ${PICTURES.map(({ file }) => file).join(', ')}`)
await takePictures()

async function takePictures(): Promise<void> {
  const cleanups: (() => Promise<void>)[] = []
  const t = { after: (ending: () => Promise<void>) => void cleanups.push(ending) }
  try {
    console.log('» starting a browser and a service')
    const browser = await startBrowser(t)
    const gallery = await hangGallery(t)
    const camera = await openCamera(browser, gallery)
    await mkdir(FOLDER, { recursive: true })
    let bytes = 0
    for (const [index, picture] of wanted.entries()) {
      const taken = await picture.take(camera, gallery.subjects)
      bytes += taken.length
      await writeFile(join(FOLDER, picture.file), taken)
      console.log(`» ${index + 1} of ${wanted.length}: ${picture.file}, ${kilobytes(taken.length)}`)
      if (taken.length > picture.maxBytes)
        complain(`${picture.file} is larger than ${kilobytes(picture.maxBytes)}`)
    }
    await removeOthers()
    console.log(`✔ ${wanted.length} pictures, ${kilobytes(bytes)}, in docs/screens`)
  } finally {
    for (const ending of cleanups) await ending()
  }
}

function kilobytes(bytes: number): string {
  return `${(bytes / KILOBYTE).toFixed(1)} KB`
}

function complain(words: string): void {
  console.error(`✖ ${words}`)
  process.exitCode = 1
}

/** Pictures that are no longer taken would show a page that no longer exists. */
async function removeOthers(): Promise<void> {
  const known = PICTURES.map(({ file }) => file)
  for (const file of await readdir(FOLDER)) if (!known.includes(file)) await rm(join(FOLDER, file))
}
