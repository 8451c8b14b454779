// The scripts that the browser of the tests has no font for, as every phone has them. They come as bytes and not from an
// address, so the page's own policy stays in force.

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Language } from '../../src/pages/words.ts'

export interface Font {
  language: Language
  /** As the page's style names it. */
  family: string
  base64: string
}

const FONTS: readonly (readonly [Language, family: string, file: string])[] = [
  [
    'ar',
    'Noto Sans Arabic',
    import.meta.resolve(
      '@fontsource-variable/noto-sans-arabic/files/noto-sans-arabic-arabic-wght-normal.woff2',
    ),
  ],
  [
    'am',
    'Noto Sans Ethiopic',
    import.meta.resolve(
      '@fontsource-variable/noto-sans-ethiopic/files/noto-sans-ethiopic-ethiopic-wght-normal.woff2',
    ),
  ],
  [
    'bn',
    'Noto Sans Bengali',
    import.meta.resolve(
      '@fontsource-variable/noto-sans-bengali/files/noto-sans-bengali-bengali-wght-normal.woff2',
    ),
  ],
]

export function readFonts(): Promise<Font[]> {
  return Promise.all(
    FONTS.map(async ([language, family, file]) => ({
      language,
      family,
      base64: await readFile(fileURLToPath(file), 'base64'),
    })),
  )
}
