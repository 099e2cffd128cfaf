/**
 * Telephone numbering plans: for the regions whose numbers are recognised without a country code the shape of their numbers, for all other
 * countries their calling codes (ITU-T E.164). Shapes are those of whole ranges, not of assigned blocks: a number too many is masked
 * rather than one too few.
 */

export interface Region {
  readonly callingCode: string
  /** Dialled in front of a number inside the country; `0`, or `1` in North America. */
  readonly trunkPrefix: string
  /** Dialled in front of a calling code. */
  readonly internationalPrefix: string
  /** National significant numbers: without any prefix. */
  readonly number: RegExp
}

/** Area code and exchange begin with 2 to 9; area codes have no 9 in the middle, are no service code (N11) and not of the reserved 37x, 96x. */
const northAmerica: Region = {
  callingCode: "1",
  trunkPrefix: "1",
  internationalPrefix: "011",
  number: /^(?!.11|37|96)[2-9][0-8]\d[2-9]\d{6}$/
}

export const regions = {
  US: northAmerica,
  CA: northAmerica,
  GB: {
    callingCode: "44",
    trunkPrefix: "0",
    internationalPrefix: "00",
    number:
      /^(1[1-9]\d{7,8}|2[03489]\d{8}|3[0347]\d{8}|5[56]\d{8}|7\d{9}|8(00|08|4[2-5]|7[0-3])\d{7}|800\d{6}|9[018]\d{8})$/
  },
  // Open plan: area codes of two to five digits and subscriber numbers of any length up to the 15 digits of E.164.
  DE: {
    callingCode: "49",
    trunkPrefix: "0",
    internationalPrefix: "00",
    number: /^([2-9]\d{5,14}|15\d{9}|1[67]\d{8,9}|180\d{5,11}|137\d{7})$/
  },
  IL: {
    callingCode: "972",
    trunkPrefix: "0",
    internationalPrefix: "00",
    number: /^([23489]\d{7}|5\d{8}|7[1-9]\d{7}|1[25789]\d{8})$/
  },
  IN: {
    callingCode: "91",
    trunkPrefix: "0",
    internationalPrefix: "00",
    number: /^([1-9]\d{9}|180\d{6,10}|186\d{8})$/
  },
  BR: {
    callingCode: "55",
    trunkPrefix: "0",
    internationalPrefix: "00",
    number: /^([1-9][1-9][2-57]\d{7}|[1-9][1-9]9\d{8}|(30|40)0\d{5}|[3589]00\d{6,7})$/
  }
} as const satisfies Record<string, Region>

/** Calling codes by their length; the regions above are not repeated. `7` covers Russia and Kazakhstan. */
export const callingCodes: ReadonlySet<string> = new Set(
  (
    "7 20 27 30 31 32 33 34 36 39 40 41 43 45 46 47 48 51 52 53 54 56 57 58 60 61 62 63 64 65 66 81 82 84 86 90 92 93 94 95 98 " +
    "211 212 213 216 218 220 221 222 223 224 225 226 227 228 229 230 231 232 233 234 235 236 237 238 239 240 241 242 243 244 245 246 " +
    "247 248 249 250 251 252 253 254 255 256 257 258 260 261 262 263 264 265 266 267 268 269 290 291 297 298 299 350 351 352 353 354 " +
    "355 356 357 358 359 370 371 372 373 374 375 376 377 378 380 381 382 383 385 386 387 389 420 421 423 500 501 502 503 504 505 506 " +
    "507 508 509 590 591 592 593 594 595 596 597 598 599 670 672 673 674 675 676 677 678 679 680 681 682 683 685 686 687 688 689 690 " +
    "691 692 800 808 850 852 853 855 856 870 878 880 881 882 883 886 888 960 961 962 963 964 965 966 967 968 970 971 973 974 975 976 " +
    "977 979 992 993 994 995 996 998"
  ).split(" ")
)

/** National numbers of countries without a shape of their own here: long enough to be no short code, and at most 15 digits with the code. */
export const otherNumberDigits = { least: 6, mostWithCode: 15 } as const
